package org.dl4jamp.onednn.output;

import java.util.Arrays;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.objdetect.Yolo2OutputLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The FP32 loss of boxes {@code [minibatch, boxes * (5 + classes), height, width]} of any type. With their channels
 * last in memory the numbers of a cell are next to each other, and a loop in Java takes them cell by cell. DL4J's layer
 * makes some eighty arrays of five axes.
 */
final class YoloTwin extends LossTwin<Yolo2OutputLayer> {
    private static final long serialVersionUID = 1L;

    private final transient OneDnnContext context;
    private final transient ChannelAxis channels;
    private final transient BoxLoss loss;
    private double sum;

    YoloTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type);
        this.context = context;
        this.channels = ChannelAxis.of(layerConf().getFormat());
        this.loss = new BoxLoss(layerConf());
    }

    @Override
    boolean takesInput() {
        return input != null
                && input.rank() == 4
                && loss.takesChannels(channels.toSecond(input).size(1));
    }

    @Override
    boolean isComplete() {
        if (!takesInput() || getLabels() == null || getLabels().rank() != 4) {
            return false;
        }
        long[] expected = channels.toSecond(input).shape().clone();
        expected[1] = loss.channelsOfLabels(expected[1]);
        return Arrays.equals(expected, channels.toSecond(getLabels()).shape());
    }

    /**
     * Moves ND4J's generator of random numbers on as DL4J's layer does in each pass: {@code linspace}, with which it
     * numbers rows and columns, is a random operation.
     */
    private void drawAsDl4j() {
        INDArray grid = channels.toSecond(input);
        Nd4j.linspace(0, grid.size(3) - 1, grid.size(3), DataType.FLOAT);
        Nd4j.linspace(0, grid.size(2) - 1, grid.size(2), DataType.FLOAT);
    }

    private INDArray boxes(LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return context.copies().channelsLast(channels.toSecond(input), DataType.FLOAT, workspaceMgr, working);
    }

    private INDArray truth(LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return context.copies().channelsLast(channels.toSecond(getLabels()), DataType.FLOAT, workspaceMgr, working);
    }

    @Override
    INDArray output(boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray given = channels.toSecond(input);
        INDArray output = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATIONS, DataType.FLOAT, given.shape());
        context.copies().copyOrAssign(given, output);
        loss.activate(output);
        return channels.fromSecond(output);
    }

    @Override
    INDArray gradient(LayerWorkspaceMgr workspaceMgr) {
        drawAsDl4j();
        INDArray boxes = boxes(workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray truth = truth(workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray next = Workspaces.channelsLast(workspaceMgr, ArrayType.ACTIVATION_GRAD, dataType, boxes.shape());
        INDArray gradient = dataType == DataType.FLOAT
                ? next
                : Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, boxes.shape());
        sum = Arrays.stream(loss.gradient(boxes, truth, gradient)).sum();
        if (dataType != DataType.FLOAT) {
            context.copies().copy(gradient, next);
        }
        return channels.fromSecond(next);
    }

    @Override
    double sumOfBackwardPass() {
        drawAsDl4j();
        return sum;
    }

    @Override
    double sum(LayerWorkspaceMgr workspaceMgr) {
        drawAsDl4j();
        INDArray truth = truth(workspaceMgr, ArrayType.FF_WORKING_MEM);
        return Arrays.stream(loss.losses(boxes(workspaceMgr, ArrayType.FF_WORKING_MEM), truth, 1))
                .sum();
    }

    /** In DL4J's losses of single examples boxes without objects have the square of their weight, lambdaNoObj. */
    @Override
    INDArray losses(double regularization, LayerWorkspaceMgr workspaceMgr) {
        drawAsDl4j();
        INDArray truth = truth(workspaceMgr, ArrayType.FF_WORKING_MEM);
        double[] losses = loss.losses(
                boxes(workspaceMgr, ArrayType.FF_WORKING_MEM),
                truth,
                layerConf().getLambdaNoObj());
        // DL4J's layer leaves a negative term out.
        INDArray scores = Nd4j.createFromArray(losses)
                .addi(Math.max(0, regularization))
                .castTo(DataType.FLOAT)
                .reshape(losses.length, 1);
        return workspaceMgr.leverageTo(ArrayType.ACTIVATIONS, scores);
    }

    @Override
    public void close() {
        // It has no kernels.
    }
}
