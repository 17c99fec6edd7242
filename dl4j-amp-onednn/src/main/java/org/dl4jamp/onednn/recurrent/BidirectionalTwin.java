package org.dl4jamp.onednn.recurrent;

import static org.nd4j.linalg.indexing.NDArrayIndex.interval;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.recurrent.BidirectionalLayer;
import org.deeplearning4j.nn.params.BidirectionalParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.cell.SequenceMemory;
import org.dl4jamp.onednn.memory.Rejection;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.base.Preconditions;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Two recurrent twins, one of which reads its sequences reversed. Their outputs are rounded before they're merged, and
 * a sum or product of them is rounded again.
 */
class BidirectionalTwin extends BidirectionalLayer implements OneDnnTwin {
    private static final long serialVersionUID = 1L;

    private final transient Bidirectional layer;
    private final DataType type;
    private final transient OneDnnContext context;
    private final transient RecurrentTwin forwards;
    private final transient RecurrentTwin backwards;
    private final transient DirectionMerge merge;
    private transient INDArray parameters;
    private transient INDArray given;

    /** @param conf of a {@link Bidirectional} with two layers that have twins */
    BidirectionalTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        this(
                conf,
                type,
                context,
                direction(conf, ((Bidirectional) conf.getLayer()).getFwd(), type, context),
                direction(conf, ((Bidirectional) conf.getLayer()).getBwd(), type, context));
    }

    private static RecurrentTwin direction(
            NeuralNetConfiguration conf, Layer layer, DataType type, OneDnnContext context) {
        NeuralNetConfiguration own = conf.clone();
        own.setLayer(layer);
        return (RecurrentTwin)
                RecurrentLayers.direction(layer).orElseThrow().maker().make(own, type, context);
    }

    private BidirectionalTwin(
            NeuralNetConfiguration conf,
            DataType type,
            OneDnnContext context,
            RecurrentTwin forwards,
            RecurrentTwin backwards) {
        super(conf, forwards, backwards, Nd4j.empty(DataType.FLOAT));
        this.layer = (Bidirectional) conf.getLayer();
        this.merge = new DirectionMerge(layer.getMode(), type, context);
        this.type = type;
        this.context = context;
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

    /** Returns {@code [minibatch, nIn, time]}. */
    private INDArray sequences() {
        Preconditions.checkState(given.rank() == 3, "3D input expected to RNN layer expected, got " + given.rank());
        return featuresFirst(given);
    }

    /** Returns sequences reversed, {@code [minibatch, size, time]}. */
    private INDArray reversed(INDArray sequences, SequenceMemory memory) {
        INDArray from = forwards.passes().timeFirst(sequences, type, memory);
        return TimeReversal.reverse(from, memory.create(type, from.shape())).permute(1, 2, 0);
    }

    /**
     * The inputs of the two directions, {@code [minibatch, nIn, time]}.
     *
     * @param backwards in the order in which that direction reads them
     */
    private record Inputs(INDArray forwards, INDArray backwards) {}

    /** Returns whether the wrapper has dropped out of each direction's input by itself. */
    private boolean isDropped() {
        return given.rank() == 4 && DirectionDropout.isIn(layer);
    }

    private Inputs inputs(SequenceMemory memory) {
        if (isDropped()) {
            return new Inputs(DirectionDropout.direction(given, 0), DirectionDropout.direction(given, 1));
        }
        INDArray sequences = sequences();
        return new Inputs(sequences, reversed(sequences, memory));
    }

    /** Returns the outputs of the backward direction, in the order of the input. */
    private INDArray onward(INDArray turned, SequenceMemory memory) {
        return TimeReversal.reverse(turned, memory.create(type, turned.shape()));
    }

    @Override
    public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
        SequenceMemory memory = new SequenceMemory(workspaceMgr, ArrayType.FF_WORKING_MEM);
        Inputs inputs = inputs(memory);
        INDArray one = forwards.outputs(inputs.forwards(), training, workspaceMgr);
        INDArray other = onward(backwards.outputs(inputs.backwards(), training, workspaceMgr), memory);
        // A backward pass may follow one that isn't for training: that of a frozen layer isn't.
        boolean keeps = !context.infers();
        return featuresFirst(merge.forward(one, other, keeps, workspaceMgr).permute(1, 2, 0));
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray next = backward(epsilon, workspaceMgr);
        return new Pair<>(gradient(), next);
    }

    private INDArray backward(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        SequenceMemory memory = new SequenceMemory(workspaceMgr, ArrayType.BP_WORKING_MEM);
        Inputs inputs = inputs(memory);
        long units = forwards.units();
        Rejection.ofEpsilon(
                "of a bidirectional layer",
                featuresFirst(epsilon),
                inputs.forwards().size(0),
                layer.getMode() == Bidirectional.Mode.CONCAT ? 2 * units : units,
                inputs.forwards().size(2));
        INDArray error = forwards.passes().timeFirst(featuresFirst(epsilon), type, memory);
        DirectionMerge.Errors errors = merge.backward(error, memory);
        INDArray next =
                forwards.inputGradient(inputs.forwards(), errors.forwards().permute(1, 2, 0), workspaceMgr);
        INDArray turned = backwards.inputGradient(
                inputs.backwards(), reversed(errors.backwards().permute(1, 2, 0), memory), workspaceMgr);
        return inputGradient(next, turned, memory);
    }

    /** Returns the gradient of the input, or those of the directions' inputs, which the wrapper adds up. */
    private INDArray inputGradient(INDArray next, INDArray turned, SequenceMemory memory) {
        LayerWorkspaceMgr workspaceMgr = memory.workspaceMgr();
        if (isDropped()) {
            INDArray both = DirectionDropout.room(workspaceMgr, ArrayType.ACTIVATION_GRAD, type, next.shape());
            context.copies().copy(next, DirectionDropout.direction(both, 0));
            context.copies().copy(turned, DirectionDropout.direction(both, 1));
            return both;
        }
        INDArray nextTimeFirst = next.permute(2, 0, 1);
        INDArray sum = Workspaces.dense(workspaceMgr, ArrayType.ACTIVATION_GRAD, type, nextTimeFirst.shape());
        merge.add(nextTimeFirst, reversed(turned, memory).permute(2, 0, 1), sum);
        return featuresFirst(sum.permute(1, 2, 0));
    }

    @Override
    public Gradient gradient() {
        Gradient gradient = new DefaultGradient(getGradientsViewArray());
        put(forwards, name -> nameOf(name, true), gradient);
        put(backwards, name -> nameOf(name, false), gradient);
        return gradient;
    }

    private static void put(RecurrentTwin direction, UnaryOperator<String> names, Gradient gradient) {
        direction
                .gradients()
                .asGradient()
                .gradientForVariable()
                .forEach((name, array) -> gradient.setGradientFor(names.apply(name), array));
    }

    /** Returns the network's name of a direction's parameter. */
    String nameOf(String parameter, boolean ofForwards) {
        return (ofForwards
                        ? BidirectionalParamInitializer.FORWARD_PREFIX
                        : BidirectionalParamInitializer.BACKWARD_PREFIX)
                + parameter;
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
        merge.clear();
    }

    @Override
    public Twin.Weights keptWeights() {
        return OneDnnTwin.both(forwards.passes().weights(), backwards.passes().weights());
    }

    @Override
    public void close() {
        merge.close();
        forwards.close();
        backwards.close();
    }
}
