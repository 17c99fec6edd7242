package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.objdetect.Yolo2OutputLayer;
import org.deeplearning4j.nn.conf.ocnn.OCNNOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Every output and loss layer of DL4J behind layers in half precision, against FP32. */
class OutputLayersTest {
    private static final DataSet VECTORS = Networks.vectors(16, 10, 3);

    private static LayerCase behind(String name, InputType input, DataSet data, Layer... layers) {
        NeuralNetConfiguration.ListBuilder list =
                Networks.builder(new Adam(1e-3)).list();
        for (Layer layer : layers) {
            list.layer(layer);
        }
        return new LayerCase(
                name,
                list.setInputType(input).build(),
                data,
                layers[layers.length - 1].getClass(),
                Comparison.Tolerance.HALF);
    }

    private static LayerCase behindDense(String name, DataSet data, Layer... layers) {
        Layer[] all = new Layer[layers.length + 1];
        all[0] = Networks.dense(12, Activation.TANH);
        System.arraycopy(layers, 0, all, 1, layers.length);
        return behind(name, InputType.feedForward(10), data, all);
    }

    private static LayerCase loss(LossFunction loss, Activation activation, INDArray labels) {
        return behindDense(
                "output " + loss,
                new DataSet(VECTORS.getFeatures(), labels),
                new OutputLayer.Builder(loss)
                        .nOut(3)
                        .activation(activation)
                        .dropOut(0.8)
                        .build());
    }

    static Stream<LayerCase> dense() {
        INDArray classes = VECTORS.getLabels();
        INDArray signs = classes.mul(2).subi(1);
        INDArray positive = classes.add(0.5);
        INDArray distribution = classes.mul(0.7).addi(0.1);
        List<LayerCase> cases = new ArrayList<>(List.of(
                loss(LossFunction.MCXENT, Activation.SOFTMAX, classes),
                loss(LossFunction.NEGATIVELOGLIKELIHOOD, Activation.SOFTMAX, classes),
                loss(LossFunction.XENT, Activation.SIGMOID, classes),
                loss(LossFunction.MSE, Activation.IDENTITY, positive),
                loss(LossFunction.L2, Activation.TANH, positive),
                loss(LossFunction.L1, Activation.IDENTITY, positive),
                loss(LossFunction.MEAN_ABSOLUTE_ERROR, Activation.IDENTITY, positive),
                loss(LossFunction.MEAN_ABSOLUTE_PERCENTAGE_ERROR, Activation.IDENTITY, positive.mul(100)),
                loss(LossFunction.MEAN_SQUARED_LOGARITHMIC_ERROR, Activation.SIGMOID, positive),
                loss(LossFunction.HINGE, Activation.IDENTITY, signs),
                loss(LossFunction.SQUARED_HINGE, Activation.IDENTITY, signs),
                loss(LossFunction.KL_DIVERGENCE, Activation.SOFTMAX, distribution),
                loss(LossFunction.POISSON, Activation.SOFTPLUS, positive),
                loss(LossFunction.COSINE_PROXIMITY, Activation.IDENTITY, positive),
                loss(LossFunction.WASSERSTEIN, Activation.IDENTITY, signs),
                behindDense(
                        "loss layer",
                        VECTORS,
                        Networks.dense(3, Activation.IDENTITY),
                        new LossLayer.Builder(LossFunction.MCXENT)
                                .activation(Activation.SOFTMAX)
                                .build()),
                behindDense(
                        "center loss",
                        VECTORS,
                        new CenterLossOutputLayer.Builder(LossFunction.MCXENT)
                                .nOut(3)
                                .activation(Activation.SOFTMAX)
                                .lambda(0.1)
                                .alpha(0.1)
                                .build())));
        return cases.stream();
    }

    static Stream<LayerCase> oneClass() {
        return Stream.of(behindDense(
                "one-class",
                new DataSet(VECTORS.getFeatures(), Nd4j.ones(DataType.FLOAT, 16, 1)),
                new OCNNOutputLayer.Builder()
                        .nu(0.1)
                        .hiddenLayerSize(8)
                        .activation(Activation.SIGMOID)
                        .initialRValue(0.1)
                        .build()));
    }

    private static RnnLossLayer rnnLoss() {
        return new RnnLossLayer.Builder(LossFunction.MCXENT)
                .activation(Activation.SOFTMAX)
                .build();
    }

    static Stream<LayerCase> recurrent() {
        InputType input = InputType.recurrent(5);
        LSTM lstm = new LSTM.Builder().nOut(8).build();
        LSTM three = new LSTM.Builder().nOut(3).build();
        RnnOutputLayer output = new RnnOutputLayer.Builder(LossFunction.MSE)
                .nOut(3)
                .activation(Activation.TANH)
                .dropOut(0.8)
                .build();
        return Stream.of(
                behind("time series", input, Networks.sequences(8, 5, 3, 6), lstm, output),
                behind("masked time series", input, Networks.maskedSequences(8, 5, 3, 6), lstm, output),
                behind("time series loss", input, Networks.sequences(8, 5, 3, 6), three, rnnLoss()),
                behind("masked time series loss", input, Networks.maskedSequences(8, 5, 3, 6), three, rnnLoss()));
    }

    private static DataSet perPixel() {
        DataSet images = Networks.images(6, 3, 8, 3);
        INDArray labels = Nd4j.zeros(DataType.FLOAT, 6, 3, 8, 8);
        INDArray brightest = images.getFeatures().argMax(1);
        for (int i = 0; i < 6; i++) {
            for (int y = 0; y < 8; y++) {
                for (int x = 0; x < 8; x++) {
                    labels.putScalar(new int[] {i, brightest.getInt(i, y, x), y, x}, 1);
                }
            }
        }
        return new DataSet(images.getFeatures(), labels);
    }

    private static DataSet boxes() {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, 6, 4 + 3, 8, 8);
        for (int i = 0; i < 6; i++) {
            int y = i + 1;
            int x = 6 - i;
            double[] corners = {x - 0.4, y - 0.7, x + 1.3, y + 1.1};
            for (int corner = 0; corner < 4; corner++) {
                labels.putScalar(
                        new int[] {i, corner, (int) Math.floor(y + 0.2), (int) Math.floor(x + 0.45)}, corners[corner]);
            }
            labels.putScalar(new int[] {i, 4 + i % 3, (int) Math.floor(y + 0.2), (int) Math.floor(x + 0.45)}, 1);
        }
        return new DataSet(Networks.images(6, 3, 8, 3).getFeatures(), labels);
    }

    private static DataSet perVoxel() {
        Nd4j.getRandom().setSeed(5);
        INDArray labels = Nd4j.zeros(DataType.FLOAT, 4, 2, 4, 4, 4);
        labels.get(NDArrayIndex.all(), NDArrayIndex.point(0)).assign(1);
        return new DataSet(Nd4j.randn(DataType.FLOAT, 4, 2, 4, 4, 4), labels);
    }

    static Stream<LayerCase> convolutional() {
        return Stream.of(
                behind(
                        "loss per pixel",
                        InputType.convolutional(8, 8, 3),
                        perPixel(),
                        Networks.convolution(3, 6),
                        Networks.convolution(3, 3),
                        new CnnLossLayer.Builder(LossFunction.MCXENT)
                                .activation(Activation.SOFTMAX)
                                .build()),
                behind(
                        "YOLO2",
                        InputType.convolutional(8, 8, 3),
                        boxes(),
                        Networks.convolution(3, 6),
                        Networks.convolution(1, 2 * (5 + 3)),
                        new Yolo2OutputLayer.Builder()
                                .boundingBoxPriors(Nd4j.create(new float[][] {{1, 1}, {2, 2}}))
                                .build()),
                behind(
                                "loss per voxel",
                                InputType.convolutional3D(4, 4, 4, 2),
                                perVoxel(),
                                new Convolution3D.Builder(1, 1, 1)
                                        .nOut(2)
                                        .dataFormat(Convolution3D.DataFormat.NCDHW)
                                        .activation(Activation.TANH)
                                        .build(),
                                new Cnn3DLossLayer.Builder(Convolution3D.DataFormat.NCDHW)
                                        .lossFunction(LossFunction.MSE)
                                        .activation(Activation.SIGMOID)
                                        .build())
                        // 1.0.0-M1.1's JSON of a graph forgets the data format.
                        .unlessDl4jFails());
    }

    @ParameterizedTest
    @MethodSource({"dense", "oneClass", "recurrent", "convolutional"})
    void runsByDefaultInHalf(LayerCase layer) {
        layer.runsByDefault(Precision.HALF);
    }

    @ParameterizedTest
    @MethodSource({"dense", "oneClass", "recurrent", "convolutional"})
    void runsWhenForced(LayerCase layer) {
        layer.runsWhenForced();
    }

    @ParameterizedTest
    @MethodSource({"dense", "oneClass", "recurrent", "convolutional"})
    void runsInAGraph(LayerCase layer) {
        layer.runsInAGraph();
    }

    /**
     * Its backward pass has workspaces all the same, unless inference has none either, and its score is computed after
     * that. DL4J has no place for dropout in an output layer then.
     */
    @ParameterizedTest
    @MethodSource({"dense", "recurrent", "convolutional"})
    void scoresInAGraphWithoutWorkspacesInTraining(LayerCase layer) {
        MultiLayerConfiguration configuration = layer.configuration().clone();
        configuration.getConfs().forEach(conf -> conf.getLayer().setIDropout(null));
        ComputationGraph fp32 = Networks.init(configuration).toComputationGraph();
        ComputationGraph mixed = fp32.clone();
        for (ComputationGraph graph : List.of(fp32, mixed)) {
            graph.getConfiguration().setTrainingWorkspaceMode(WorkspaceMode.NONE);
        }
        MixedPrecision.enable(mixed, Gradients.config(Precision.HALF));
        Comparison.assertGradients(
                Gradients.of(fp32, layer.data().toMultiDataSet()),
                Gradients.of(mixed, layer.data().toMultiDataSet()),
                layer.tolerance());
        assertEquals(fp32.score(), mixed.score(), layer.tolerance().output() * Math.abs(fp32.score()) + 1e-4);
    }
}
