package org.dl4jamp.onednn.attention;

import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.scores.ScaledDotProduct;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The twin of an attention layer, whose parameters and masks are kept as by DL4J's layer. */
abstract class AttentionTwin extends SameDiffLayer implements Twin.OptionalInputGradient, OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient AttentionPasses passes;
    private transient boolean inputGradientUnwanted;

    AttentionTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context, AttentionForm form) {
        super(conf, type);
        passes = new AttentionPasses(context, this::layerId, form, type, context.infers(), ScaledDotProduct.SCORES);
    }

    /** Returns whether an input has a shape that the layer takes. */
    abstract boolean fits(INDArray given);

    /** Returns the shape of the output. */
    abstract long[] outputShape();

    /** Throws the exception for an input that doesn't fit. */
    abstract void reject();

    /** Returns what is made into queries, keys and values. */
    abstract List<INDArray> inputs(AttentionMemory working);

    /** Takes the gradients of {@link #inputs}, and returns that of the layer's input. */
    abstract INDArray inputGradient(List<INDArray> nexts, AttentionMemory working);

    /** Runs a pass, of which oneDNN may refuse a kernel. */
    <T> T run(Supplier<T> pass) {
        return pass.get();
    }

    private void requireFit() {
        if (input.isEmpty() || !fits(input)) {
            reject();
        }
        AttentionMasks.requireFit(maskArray, input);
    }

    @Override
    public final INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(false);
        requireFit();
        return run(() -> passes.forward(
                inputs(AttentionMemory.ofForward(workspaceMgr)),
                params,
                AttentionMasks.ofKeys(maskArray),
                training,
                workspaceMgr));
    }

    @Override
    public final Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        assertInputSet(true);
        requireFit();
        Rejection.ofEpsilon(layerId(), epsilon, outputShape());
        INDArray next = run(() -> backward(epsilon, workspaceMgr));
        Gradient gradient = new DefaultGradient();
        if (gradTable != null) {
            for (Map.Entry<String, INDArray> each : gradTable.entrySet()) {
                gradient.setGradientFor(each.getKey(), each.getValue());
            }
        }
        return new Pair<>(gradient, inputGradientUnwanted ? null : next);
    }

    private INDArray backward(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        AttentionMemory working = AttentionMemory.ofBackward(workspaceMgr);
        List<INDArray> nexts = passes.backward(
                inputs(working),
                params,
                AttentionMasks.ofKeys(maskArray),
                epsilon,
                gradients == null ? null : Place.of(gradients),
                !inputGradientUnwanted,
                workspaceMgr);
        return inputGradient(nexts, working);
    }

    @Override
    public final void spareInputGradient(boolean unwanted) {
        inputGradientUnwanted = unwanted;
    }

    @Override
    public final void clear() {
        super.clear();
        passes.forget();
    }

    @Override
    public Twin.Weights keptWeights() {
        return passes.weights();
    }

    @Override
    public void close() {
        passes.close();
    }
}
