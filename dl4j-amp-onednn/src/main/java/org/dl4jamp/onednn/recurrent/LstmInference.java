package org.dl4jamp.onednn.recurrent;

import java.util.Optional;
import java.util.function.Supplier;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.OneDnnLibrary;
import org.dl4jamp.onednn.weights.KeptWeights;
import org.dl4jamp.onednn.weights.LstmWeights;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.activations.impl.ActivationTanH;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * oneDNN's own LSTM for the shapes of a layer's input, in inference mode. Its weights are made once, and nothing is
 * kept for a backward pass. It has no masks.
 */
final class LstmInference implements KeptWeights, AutoCloseable {
    private final OneDnnContext context;
    private final Supplier<String> layer;
    private final DataType type;
    private final KernelCache<SequenceShape, InferringLstm> primitives = new KernelCache<>(RecurrentPasses.SHAPES);
    private final LstmWeights weights = new LstmWeights();
    private boolean keeps;

    private LstmInference(OneDnnContext context, Supplier<String> layer, DataType type) {
        this.context = context;
        this.layer = layer;
        this.type = type;
    }

    /**
     * Returns the LSTM of a layer with tanh and sigmoid, which are oneDNN's functions; subclasses of these may compute
     * anything.
     *
     * @param layer the layer's name for error messages
     * @return empty if oneDNN has none
     */
    static Optional<LstmInference> of(OneDnnContext context, Supplier<String> layer, DataType type, LSTM conf) {
        boolean usual = conf.getActivationFn().getClass() == ActivationTanH.class
                && conf.getGateActivationFn().getClass() == ActivationSigmoid.class;
        return usual && isThereFor(type) ? Optional.of(new LstmInference(context, layer, type)) : Optional.empty();
    }

    /**
     * Returns whether oneDNN has it. Without AVX2 it packs weights in an order that can't be filled gate by gate. Where
     * BFLOAT16 is emulated it divides by zero when it shares a product among threads, and takes the process along.
     */
    static boolean isThereFor(DataType type) {
        return type == DataType.FLOAT
                ? OneDnnLibrary.hasAvx2()
                : OneDnnLibrary.bfloat16() == OneDnnLibrary.Bfloat16.NATIVE;
    }

    /** Returns whether the layer is in inference mode. */
    boolean isOn() {
        return keeps;
    }

    /**
     * Runs a forward pass.
     *
     * @param x {@code [steps, minibatch, nIn]}
     * @param lastState takes the state after it, outside workspaces; null if unused
     * @param place where the outputs go
     * @return {@code [steps, minibatch, units]}
     */
    INDArray outputs(
            INDArray x,
            RecurrentParameters parameters,
            RecurrentState initial,
            LastState lastState,
            SequenceMemory place) {
        SequenceShape shape = new SequenceShape(
                x.size(1), x.size(0), x.size(2), parameters.recurrentWeights().size(0), LstmCell.GATES);
        INDArray outputs = place.create(type, shape.steps(), shape.minibatch(), shape.units());
        primitives
                .get(shape, () -> InferringLstm.make(context, layer.get(), type, shape, weights))
                .run(x, parameters, initial, outputs, lastState);
        return outputs;
    }

    @Override
    public void keep() {
        keeps = true;
    }

    @Override
    public void outdate() {
        weights.outdate();
    }

    @Override
    public void close() {
        primitives.close();
        weights.close();
    }
}
