package org.dl4jamp.benchmarks.cases;

import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.dl4jamp.benchmarks.side.Schedule;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * The network of {@code amp sine}: 1×1 convolutions with batch normalization and ReLU learn a sinusoid from
 * coordinates. One grid is the batch; of several all are the same.
 *
 * @param size points along each side of the grid
 * @param hidden channels of the hidden convolutions
 * @param minibatch grids
 */
public record SineCase(int size, int hidden, int minibatch) implements BenchmarkCase {
    private static final int HIDDEN_CONVOLUTIONS = 3;
    private static final double WAVES = 2;

    /** With one grid. */
    public SineCase(int size, int hidden) {
        this(size, hidden, 1);
    }

    @Override
    public String name() {
        return "sine-" + size;
    }

    @Override
    public String description() {
        return "sine network, 1×1 convolutions of " + hidden + " channels on a " + size + "×" + size + " grid"
                + (minibatch == 1 ? "" : ", batch " + minibatch);
    }

    @Override
    public String updater() {
        return "Adam";
    }

    @Override
    public BenchmarkCase ofBatch(int examples) {
        return new SineCase(size, hidden, examples);
    }

    @Override
    public NeuralNetwork network() {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(20260101)
                .weightInit(WeightInit.RELU)
                .updater(new Adam(1e-3))
                .list();
        for (int i = 0; i < HIDDEN_CONVOLUTIONS; i++) {
            list.layer(convolution(hidden).name("conv_" + i).build());
            list.layer(new BatchNormalization.Builder().name("bn_" + i).build());
            list.layer(new ActivationLayer.Builder()
                    .activation(Activation.RELU)
                    .name("relu_" + i)
                    .build());
        }
        list.layer(convolution(1).name("conv_out").build());
        list.layer(new CnnLossLayer.Builder(LossFunction.MSE)
                .activation(Activation.IDENTITY)
                .name("loss")
                .build());
        MultiLayerNetwork network = new MultiLayerNetwork(
                list.setInputType(InputType.convolutional(size, size, 2)).build());
        network.init();
        return network;
    }

    private static ConvolutionLayer.Builder convolution(int channels) {
        return new ConvolutionLayer.Builder(1, 1).nOut(channels).activation(Activation.IDENTITY);
    }

    @Override
    public DataSet batch() {
        float[][][][] coordinates = new float[1][2][size][size];
        float[][][][] heights = new float[1][1][size][size];
        for (int row = 0; row < size; row++) {
            double y = row / (size - 1.0);
            for (int column = 0; column < size; column++) {
                double x = column / (size - 1.0);
                coordinates[0][0][row][column] = (float) x;
                coordinates[0][1][row][column] = (float) y;
                double wave = Math.cos(2 * Math.PI * WAVES * x) + Math.cos(2 * Math.PI * WAVES * y);
                heights[0][0][row][column] = (float) (0.5 + wave / 4);
            }
        }
        return new DataSet(
                Nd4j.createFromArray(coordinates).repeat(0, minibatch),
                Nd4j.createFromArray(heights).repeat(0, minibatch));
    }

    @Override
    public Schedule schedule() {
        return Schedule.ofSteps(3, 4);
    }
}
