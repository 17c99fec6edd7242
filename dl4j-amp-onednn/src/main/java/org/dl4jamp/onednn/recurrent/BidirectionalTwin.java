package org.dl4jamp.onednn.recurrent;

import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.interval;

import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.recurrent.BidirectionalLayer;
import org.deeplearning4j.nn.params.BidirectionalParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.array.Handle;
import org.dl4jamp.onednn.array.Layout;
import org.dl4jamp.onednn.array.Workspaces;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Twins;
import org.nd4j.common.base.Preconditions;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Two recurrent twins, one of which is given its sequences the wrong way round. What the two hand on is rounded already when it's merged, and
 * the result of adding or multiplying it is rounded again.
 */
final class BidirectionalTwin extends BidirectionalLayer implements AutoCloseable {
    private static final long serialVersionUID = 1L;

    private final transient Bidirectional layer;
    private final transient OneDnnContext context;
    private final DataType type;
    private final transient Directional forwards;
    private final transient Directional backwards;
    private final transient KernelCache<Layout, MergeKernels> merges = new KernelCache<>(Twins.SHAPES);
    private transient INDArray parameters;
    private transient INDArray given;
    private transient INDArray forwardOutputs;
    private transient INDArray backwardOutputs;

    static BidirectionalTwin make(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        Bidirectional layer = (Bidirectional) conf.getLayer();
        return new BidirectionalTwin(
                conf,
                type,
                context,
                direction(conf, layer.getFwd(), type, context),
                direction(conf, layer.getBwd(), type, context));
    }

    private static Directional direction(
            NeuralNetConfiguration conf,
            org.deeplearning4j.nn.conf.layers.Layer layer,
            DataType type,
            OneDnnContext context) {
        NeuralNetConfiguration own = conf.clone();
        own.setLayer(layer);
        return (Directional)
                RecurrentLayers.direction(layer).orElseThrow().maker().make(own, type, context);
    }

    private BidirectionalTwin(
            NeuralNetConfiguration conf,
            DataType type,
            OneDnnContext context,
            Directional forwards,
            Directional backwards) {
        super(conf, forwards, backwards, Nd4j.empty(DataType.FLOAT));
        this.layer = (Bidirectional) conf.getLayer();
        this.context = context;
        this.type = type;
        this.forwards = forwards;
        this.backwards = backwards;
    }

    @Override
    public void setParamsViewArray(INDArray params) {
        parameters = params;
        INDArray all = params.reshape(params.length());
        long half = params.length() / 2;
        forwards.setParamsViewArray(all.get(interval(0, half)));
        backwards.setParamsViewArray(all.get(interval(half, 2 * half)));
    }

    @Override
    public INDArray params() {
        return parameters;
    }

    @Override
    public void setParams(INDArray params) {
        parameters.assign(params);
    }

    @Override
    public void setParamTable(Map<String, INDArray> table) {
        forwards.setParamTable(part(table, BidirectionalParamInitializer.FORWARD_PREFIX));
        backwards.setParamTable(part(table, BidirectionalParamInitializer.BACKWARD_PREFIX));
    }

    private static Map<String, INDArray> part(Map<String, INDArray> table, String prefix) {
        Map<String, INDArray> part = new LinkedHashMap<>();
        table.forEach((name, array) -> {
            if (name.startsWith(prefix)) {
                part.put(name.substring(prefix.length()), array);
            }
        });
        return part;
    }

    @Override
    public void setInput(INDArray input, LayerWorkspaceMgr workspaceMgr) {
        given = input;
    }

    @Override
    public INDArray input() {
        return given;
    }

    private INDArray featuresFirst(INDArray array) {
        return layer.getRNNDataFormat() == RNNFormat.NWC ? array.permute(0, 2, 1) : array;
    }

    /** {@code [minibatch, nIn, time]}. */
    private INDArray sequences() {
        Preconditions.checkState(given.rank() == 3, "3D input expected to RNN layer expected, got " + given.rank());
        return featuresFirst(given);
    }

    private static RecurrentPasses.Sequences of(INDArray sequences, Layer direction) {
        return new RecurrentPasses.Sequences(sequences, direction.getMaskArray(), RecurrentState.ZERO);
    }

    /** The other way round, {@code [minibatch, size, time]}. */
    private INDArray reversed(INDArray sequences, SequenceMemory memory) {
        INDArray from = forwards.passes().timeFirst(sequences, type, memory);
        return reverse(from, memory.create(type, from.shape())).permute(1, 2, 0);
    }

    /** Copies {@code [time, ...]}. */
    private static INDArray reverse(INDArray from, INDArray to) {
        long steps = from.size(0);
        long bytes = from.length() / steps * from.dataType().width();
        Handle source = new Handle();
        Handle target = new Handle();
        for (long time = 0; time < steps; time++) {
            Pointer.memcpy(
                    target.at(Workspaces.address(to) + (steps - 1 - time) * bytes),
                    source.at(Workspaces.address(from) + time * bytes),
                    bytes);
        }
        return to;
    }

    private MergeKernels merges(INDArray array) {
        Layout layout = Layout.of(array);
        return merges.get(layout, () -> MergeKernels.make(context, "bidirectional layer", layout));
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        SequenceMemory memory = new SequenceMemory(workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray sequences = sequences();
        INDArray one =
                forwards.passes().outputs(of(sequences, forwards), forwards.parameters(), training, null, workspaceMgr);
        INDArray turned = backwards
                .passes()
                .outputs(
                        of(reversed(sequences, memory), backwards),
                        backwards.parameters(),
                        training,
                        null,
                        workspaceMgr);
        INDArray other = reverse(turned, memory.create(type, turned.shape()));
        long units = one.size(2);
        boolean both = layer.getMode() == Bidirectional.Mode.CONCAT;
        INDArray merged = Workspaces.dense(
                workspaceMgr, ArrayType.ACTIVATIONS, type, one.size(0), one.size(1), both ? 2 * units : units);
        switch (layer.getMode()) {
            case ADD -> merges(one).add(one, other, merged);
            case AVERAGE -> merges(one).average(one, other, merged);
            case MUL -> {
                merges(one).multiply(one, other, merged);
                if (training) {
                    keep(one, other);
                }
            }
            case CONCAT -> {
                context.copy(one, merged.get(all(), all(), interval(0, units)));
                context.copy(other, merged.get(all(), all(), interval(units, 2 * units)));
            }
        }
        return featuresFirst(merged.permute(1, 2, 0));
    }

    // Like DL4J's layer: outside workspaces.
    private void keep(INDArray one, INDArray other) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            forwardOutputs = one.dup();
            backwardOutputs = other.dup();
        }
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        SequenceMemory memory = new SequenceMemory(workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray sequences = sequences();
        INDArray error = forwards.passes().timeFirst(featuresFirst(epsilon), type, memory);
        INDArray one = error;
        INDArray other = error;
        switch (layer.getMode()) {
            case ADD -> {}
            case AVERAGE -> {
                one = memory.create(type, error.shape());
                other = one;
                merges(error).average(error, memory.zeros(type, error.shape()), one);
            }
            case MUL -> {
                one = memory.create(type, error.shape());
                other = memory.create(type, error.shape());
                merges(error).multiply(error, backwardOutputs, one);
                merges(error).multiply(error, forwardOutputs, other);
            }
            case CONCAT -> {
                long units = error.size(2) / 2;
                one = error.get(all(), all(), interval(0, units));
                other = error.get(all(), all(), interval(units, 2 * units));
            }
        }
        INDArray next = backward(forwards, sequences, one.permute(1, 2, 0), workspaceMgr);
        INDArray turned = backward(
                backwards, reversed(sequences, memory), reversed(other.permute(1, 2, 0), memory), workspaceMgr);
        INDArray sum = Workspaces.dense(
                workspaceMgr,
                ArrayType.ACTIVATION_GRAD,
                type,
                turned.permute(2, 0, 1).shape());
        INDArray nextTimeFirst = next.permute(2, 0, 1);
        merges(nextTimeFirst).add(nextTimeFirst, reversed(turned, memory).permute(2, 0, 1), sum);
        return new Pair<>(gradient(), featuresFirst(sum.permute(1, 2, 0)));
    }

    private static INDArray backward(
            Directional direction, INDArray sequences, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        return direction
                .passes()
                .backward(
                        of(sequences, direction),
                        epsilon,
                        -1,
                        direction.parameters(),
                        direction.gradients(),
                        null,
                        workspaceMgr,
                        ArrayType.BP_WORKING_MEM);
    }

    @Override
    public Gradient gradient() {
        Gradient gradient = new DefaultGradient(getGradientsViewArray());
        forwards.gradients()
                .asGradient()
                .gradientForVariable()
                .forEach((name, array) ->
                        gradient.setGradientFor(BidirectionalParamInitializer.FORWARD_PREFIX + name, array));
        backwards
                .gradients()
                .asGradient()
                .gradientForVariable()
                .forEach((name, array) ->
                        gradient.setGradientFor(BidirectionalParamInitializer.BACKWARD_PREFIX + name, array));
        return gradient;
    }

    @Override
    public int batchSize() {
        return (int) given.size(0);
    }

    @Override
    public int getInputMiniBatchSize() {
        return batchSize();
    }

    @Override
    public void clear() {
        super.clear();
        given = null;
        forwardOutputs = null;
        backwardOutputs = null;
    }

    @Override
    public void close() {
        merges.close();
        forwards.close();
        backwards.close();
    }
}
