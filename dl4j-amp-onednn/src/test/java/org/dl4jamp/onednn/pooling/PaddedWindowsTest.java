package org.dl4jamp.onednn.pooling;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.interval;

import java.util.Random;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.Subsampling3DLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Windows that cover nothing but padding: oneDNN has no average without padding for these. */
class PaddedWindowsTest {
    private static final AmpConfig FLOAT =
            AmpConfig.builder().precision(Precision.FLOAT).engine("onednn").build();
    private static final String REASON = "it has no kernel for averages of windows that see nothing but padding";

    private static SubsamplingLayer.Builder images(PoolingType type, boolean paddingCounts) {
        return new SubsamplingLayer.Builder(type)
                .stride(1, 1)
                .convolutionMode(ConvolutionMode.Truncate)
                .avgPoolIncludePadInDivisor(paddingCounts);
    }

    private static MultiLayerNetwork network(SubsamplingLayer pooling) {
        return Networks.init(new NeuralNetConfiguration.Builder()
                .seed(1)
                .list()
                .layer(new ConvolutionLayer.Builder(1, 1).nOut(3).build())
                .layer(pooling)
                .layer(new CnnLossLayer.Builder(LossFunction.MSE)
                        .activation(Activation.TANH)
                        .build())
                .setInputType(InputType.convolutional(2, 2, 2))
                .build());
    }

    /** Compares a network's outputs, NaN with NaN, and returns the plan's row of the pooling layer. */
    private static PrecisionPlan.Row agrees(MultiLayerNetwork stock, long... shape) {
        INDArray features = gaussian(new Random(1), 1, shape);
        double[] expected = stock.output(features).dup('c').data().asDouble();
        MultiLayerNetwork network = stock.clone();
        try (InferenceMode mode = MixedPrecision.inference(network, FLOAT.forInference())) {
            assertArrayEquals(expected, network.output(features).dup('c').data().asDouble(), 1e-6);
        }
        try (MixedPrecision amp = MixedPrecision.enable(network, FLOAT)) {
            assertArrayEquals(expected, network.output(features).dup('c').data().asDouble(), 1e-6);
            return amp.plan().row("layer1");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "AVG, false, 2, 1, 0, 1, 1",
        "AVG, false, 2, 2, 2, 2, 1",
        "AVG, false, 2, 2, 1, 1, 3",
        "AVG, true, 2, 1, 0, 1, 1",
        "MAX, false, 2, 1, 0, 1, 1",
        "MAX, false, 2, 2, 1, 1, 3"
    })
    void inImages(PoolingType type, boolean paddingCounts, int height, int width, int above, int before, int dilation) {
        PrecisionPlan.Row row = agrees(
                network(images(type, paddingCounts)
                        .kernelSize(height, width)
                        .padding(above, before)
                        .dilation(dilation, dilation)
                        .build()),
                2,
                2,
                2,
                2);
        boolean averagesNothing = type == PoolingType.AVG && !paddingCounts;
        assertEquals(averagesNothing, row.reason().contains(REASON), row.reason());
    }

    @Test
    void inTheGapsOfTheModeSame() {
        PrecisionPlan.Row row = agrees(
                network(images(PoolingType.AVG, false)
                        .kernelSize(2, 2)
                        .dilation(2, 2)
                        .convolutionMode(ConvolutionMode.Same)
                        .build()),
                2,
                2,
                1,
                1);
        assertEquals(true, row.reason().contains(REASON), row.reason());
    }

    @ParameterizedTest
    @CsvSource({"AVG", "MAX"})
    void inVolumes(PoolingType type) {
        MultiLayerNetwork network = Networks.init(new NeuralNetConfiguration.Builder()
                .seed(1)
                .list()
                .layer(new Convolution3D.Builder(1, 1, 1).nOut(3).build())
                .layer(new Subsampling3DLayer.Builder(type)
                        .kernelSize(2, 1, 1)
                        .stride(1, 1, 1)
                        .padding(0, 1, 0)
                        .convolutionMode(ConvolutionMode.Truncate)
                        .build())
                .layer(new Cnn3DLossLayer.Builder(Convolution3D.DataFormat.NCDHW)
                        .lossFunction(LossFunction.MSE)
                        .activation(Activation.TANH)
                        .build())
                .setInputType(InputType.convolutional3D(3, 2, 4, 2))
                .build());
        PrecisionPlan.Row row = agrees(network, 2, 2, 3, 2, 4);
        assertEquals(type == PoolingType.AVG, row.reason().contains(REASON), row.reason());
    }

    @Test
    void theirMaximumHasNoGradient() {
        SubsamplingLayer pooling =
                images(PoolingType.MAX, false).kernelSize(1, 1).padding(1, 1).build();
        INDArray epsilon = gaussian(new Random(2), 1, 2, 3, 6, 7);
        try (EngineSession session = new OneDnnEngine().session(0, true)) {
            TwinLayer twin = Layers.twin(session, pooling, null, DataType.FLOAT);
            INDArray gradient = SingleLayer.run(twin, gaussian(new Random(1), 1, 2, 3, 4, 5), epsilon)
                    .inputGradient();
            INDArray expected = epsilon.get(all(), all(), interval(1, 5), interval(1, 6));
            Agreement.assertWithin("gradient", expected, gradient, 1e-6);
        }
    }
}
