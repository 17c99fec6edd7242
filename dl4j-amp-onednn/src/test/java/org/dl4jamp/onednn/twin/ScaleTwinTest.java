package org.dl4jamp.onednn.twin;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.ElementWiseMultiplicationLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
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
import org.dl4jamp.onednn.StockTraining;
import org.dl4jamp.onednn.TwinCheck;
import org.dl4jamp.onednn.Types;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** A multiplication of each number of an example by a parameter of its own, plus another one. */
class ScaleTwinTest {
    private static ElementWiseMultiplicationLayer.Builder layer(int size) {
        return new ElementWiseMultiplicationLayer.Builder().nIn(size).nOut(size);
    }

    @Property(tries = 60)
    void agreesWithDl4js(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 40) int batch,
            @ForAll @IntRange(min = 1, max = 40) int size,
            @ForAll boolean masked) {
        Random random = new Random(seed);
        Activation[] functions = {
            Activation.IDENTITY,
            Activation.RELU,
            Activation.TANH,
            Activation.SIGMOID,
            Activation.GELU,
            Activation.SELU,
            Activation.SOFTMAX
        };
        INDArray mask = masked ? mask(random, batch) : null;
        TwinCheck.of(
                        layer(size)
                                .activation(functions[random.nextInt(functions.length)])
                                .build(),
                        ScaleTwin.class,
                        random)
                .masked(mask)
                .agrees(gaussian(random, 1, batch, size));
    }

    /** One row at least counts. */
    private static INDArray mask(Random random, int rows) {
        INDArray mask = Nd4j.create(DataType.FLOAT, rows, 1);
        for (int i = 0; i < rows; i++) {
            mask.putScalar(i, i == 0 || random.nextBoolean() ? 1 : 0);
        }
        return mask;
    }

    /** {@code tanh(x w + b)} and its derivatives, in double precision. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3, 64, 300})
    void itComputesItsFormulaAndDerivatives(int rows) {
        int size = 37;
        Random random = new Random(rows);
        INDArray params = gaussian(random, 1, 2L * size);
        INDArray input = gaussian(random, 1, rows, size);
        INDArray epsilon = gaussian(random, 1, rows, size);
        double[][] output = new double[rows][size];
        double[][] next = new double[rows][size];
        double[][] weights = new double[1][size];
        double[][] bias = new double[1][size];
        for (int row = 0; row < rows; row++) {
            for (int i = 0; i < size; i++) {
                double x = input.getDouble(row, i);
                double y = Math.tanh(x * params.getDouble(i) + params.getDouble(size + i));
                double delta = epsilon.getDouble(row, i) * (1 - y * y);
                output[row][i] = y;
                next[row][i] = delta * params.getDouble(i);
                weights[0][i] += delta * x;
                bias[0][i] += delta;
            }
        }
        Layer conf = layer(size).activation(Activation.TANH).build();
        for (DataType type : Types.here()) {
            try (EngineSession session = new OneDnnEngine().session(2L * size, true)) {
                SingleLayer.Result actual = SingleLayer.run(
                        Layers.twin(session, conf, params, type), input.castTo(type), epsilon.castTo(type));
                Agreement.assertRoundedOnce(type + " output", Nd4j.create(output), actual.output());
                Agreement.assertRoundedOnce(type + " input gradient", Nd4j.create(next), actual.inputGradient());
                Agreement.assertWithin("W", Nd4j.create(weights), row(actual.gradient("W")), 1e-5);
                Agreement.assertWithin("b", Nd4j.create(bias), row(actual.gradient("b")), 1e-5);
            }
        }
    }

    private static INDArray row(INDArray vector) {
        return vector.reshape(1, vector.length());
    }

    /** DL4J's layer has no place for noise. */
    @Test
    void networksTrainAndComputeAsInStockDl4j() {
        ElementWiseMultiplicationLayer scale = layer(12)
                .activation(Activation.TANH)
                .weightNoise(new DropConnect(0.5))
                .l2(0.01)
                .build();
        StockTraining.assertAgrees(
                Networks.init(Networks.builder(new Sgd(0.05))
                        .list()
                        .layer(new DenseLayer.Builder()
                                .nOut(12)
                                .activation(Activation.RELU)
                                .build())
                        .layer(scale)
                        .layer(new DenseLayer.Builder()
                                .nOut(9)
                                .activation(Activation.RELU)
                                .build())
                        .layer(new FrozenLayer(
                                layer(9).activation(Activation.SIGMOID).build()))
                        .layer(Networks.softmax(3))
                        .setInputType(InputType.convolutional(8, 8, 3, CNN2DFormat.NCHW))
                        .build()),
                CNN2DFormat.NCHW,
                1);
    }

    /** DL4J gives it the time steps as rows, with a mask of one column. */
    @ParameterizedTest
    @EnumSource(
            value = Precision.class,
            names = {"FLOAT", "BFLOAT16"})
    void maskedSequences(Precision planned) {
        Precision precision = planned == Precision.FLOAT ? planned : Types.halfPrecision();
        MultiLayerNetwork stock = Networks.init(Networks.builder(new Sgd(0.05))
                .list()
                .layer(new LSTM.Builder().nOut(6).build())
                .layer(layer(6).activation(Activation.SIGMOID).build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT)
                        .nOut(3)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.recurrent(4))
                .build());
        INDArray labels = Nd4j.zeros(DataType.FLOAT, 2, 3, 5);
        INDArray mask = Nd4j.createFromArray(new float[][] {{1, 1, 1, 0, 0}, {1, 1, 1, 1, 1}});
        for (int step = 0; step < 5; step++) {
            labels.putScalar(0, step % 3, step, 1);
            labels.putScalar(1, (step + 1) % 3, step, 1);
        }
        DataSet data = new DataSet(gaussian(new Random(1), 1, 2, 4, 5), labels, mask, mask);
        MultiLayerNetwork own = stock.clone();
        stock.fit(data.copy());
        AmpConfig config =
                AmpConfig.builder().engine("onednn").precision(precision).build();
        double tolerance = precision == Precision.FLOAT ? 1e-5 : 0.03;
        INDArray expected = stock.output(data.getFeatures(), false, mask, mask);
        try (MixedPrecision amp = MixedPrecision.enable(own, config)) {
            own.fit(data.copy());
            assertEquals("onednn", amp.plan().row("layer1").engine());
            Agreement.assertWithin("parameters", stock.params(), own.params(), tolerance);
        }
        try (InferenceMode mode = MixedPrecision.inference(own, config.forInference())) {
            Agreement.assertWithin("output", expected, own.output(data.getFeatures(), false, mask, mask), tolerance);
        }
    }

    @Test
    void inputOfAnotherShapeIsRejectedAsByDl4j() {
        Layer conf = layer(4).activation(Activation.TANH).build();
        INDArray params = gaussian(new Random(1), 1, 8);
        for (long[] shape : new long[][] {{3, 5}, {3, 4, 2}, {4, 3}}) {
            INDArray input = gaussian(new Random(1), 1, shape);
            Class<?> expected = assertThrows(
                            RuntimeException.class, () -> SingleLayer.run(SingleLayer.dl4j(conf, params), input, input))
                    .getClass();
            try (EngineSession session = new OneDnnEngine().session(8, true)) {
                TwinLayer twin = Layers.twin(session, conf, params, DataType.FLOAT);
                RuntimeException thrown =
                        assertThrows(RuntimeException.class, () -> SingleLayer.run(twin, input, input));
                assertTrue(expected.isInstance(thrown), thrown::toString);
            }
        }
    }

    /** DL4J's own layer: its output in training is that of inference, its gradient is one of dropped input. */
    @Test
    void dropoutIsLeftToDl4j() {
        Layer dropping = layer(4).activation(Activation.IDENTITY).dropOut(0.5).build();
        assertEquals(
                Optional.of("DL4J applies dropout of element-wise multiplications in the backward pass only"),
                new OneDnnEngine().cannot(dropping, Precision.FLOAT));
        INDArray params = gaussian(new Random(1), 1, 8);
        INDArray input = gaussian(new Random(1), 1, 20, 4);
        SingleLayer.Result result = SingleLayer.run(SingleLayer.dl4j(dropping, params), input.dup(), input);
        SingleLayer.Result without = SingleLayer.run(
                SingleLayer.dl4j(layer(4).activation(Activation.IDENTITY).build(), params), input, input);
        assertEquals(without.output(), result.output());
        assertTrue(!without.inputGradient().equals(result.inputGradient()));
    }
}
