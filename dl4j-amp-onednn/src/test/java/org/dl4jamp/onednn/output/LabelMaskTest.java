package org.dl4jamp.onednn.output;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Random;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.onednn.Types;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Masks of labels are weights of losses, and losses are FP32: a weight of 0.3, which BFLOAT16 hasn't, counts as it is.
 */
class LabelMaskTest {
    static Stream<Arguments> heads() {
        Random random = new Random(2);
        BaseOutputLayer rows = Networks.softmax(3);
        BaseOutputLayer steps = new RnnOutputLayer.Builder(LossFunction.MSE)
                .nOut(3)
                .activation(Activation.TANH)
                .build();
        INDArray labels = Nd4j.create(DataType.FLOAT, 8, 3);
        for (int i = 0; i < 8; i++) {
            labels.putScalar(i, i % 3, 1);
        }
        return Stream.of(
                Arguments.of(
                        rows, InputType.feedForward(5), new DataSet(gaussian(random, 1, 8, 5), labels), new long[] {8, 1
                        }),
                Arguments.of(
                        steps,
                        InputType.recurrent(5, 4),
                        new DataSet(gaussian(random, 1, 8, 5, 4), gaussian(random, 1, 8, 3, 4)),
                        new long[] {8, 4}));
    }

    @ParameterizedTest
    @MethodSource("heads")
    void aWeightThatBfloat16HasNotIsTakenAsItIs(BaseOutputLayer head, InputType type, DataSet data, long[] shape) {
        MultiLayerNetwork fp32 = Networks.init(new NeuralNetConfiguration.Builder()
                .list()
                .layer(head)
                .setInputType(type)
                .build());
        // Products of what BFLOAT16 can represent are FP32's.
        fp32.setParams(gaussian(new Random(3), 0.5, 1, fp32.numParams()));
        MultiLayerNetwork mixed = fp32.clone();
        INDArray mask = Nd4j.valueArrayOf(shape, 0.3, DataType.FLOAT);
        mask.putScalar(0, 0.7);
        mask.putScalar(1, 0);
        data.setLabelsMaskArray(mask);
        AmpConfig config = AmpConfig.builder()
                .precision(Types.halfPrecision())
                .engine("onednn")
                .lower(head.getClass())
                .build();
        try (MixedPrecision amp = MixedPrecision.enable(mixed, config)) {
            assertEquals(Types.halfPrecision(), amp.plan().row("layer0").precision());
            double expected = fp32.score(data);
            assertEquals(expected, mixed.score(data), 1e-6 * expected);
            fp32.fit(data);
            mixed.fit(data);
            assertEquals(fp32.score(), mixed.score(), 1e-6 * expected);
        }
    }
}
