package org.dl4jamp.onednn.twin;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.distribution.UniformDistribution;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.PReLULayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInitDistribution;
import org.dl4jamp.Networks;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.StockTraining;
import org.dl4jamp.onednn.Types;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** ReLU with slopes that are parameters. */
class PreluTwinTest {
    /** A shape of the input, and the axes that share slopes. */
    record Form(List<Long> shape, List<Long> shared) {
        static Form of(long... shape) {
            return new Form(LongStream.of(shape).boxed().toList(), List.of());
        }

        Form sharing(long... axes) {
            return new Form(shape, LongStream.of(axes).boxed().toList());
        }

        long[] sizes() {
            return numbers(shape);
        }

        private static long[] numbers(List<Long> list) {
            return list.stream().mapToLong(Long::longValue).toArray();
        }

        PReLULayer layer() {
            PReLULayer.Builder builder = new PReLULayer.Builder().inputShape(numbers(shape.subList(1, shape.size())));
            return (shared.isEmpty() ? builder : builder.sharedAxes(numbers(shared))).build();
        }
    }

    /** Of the largest DL4J itself can't make a gradient: it refuses input that is 64 times as large as the slopes. */
    static Stream<Form> forms() {
        return Stream.of(
                Form.of(4, 9),
                Form.of(130, 3),
                Form.of(3, 5, 7),
                Form.of(3, 5, 7).sharing(2),
                Form.of(3, 5, 7).sharing(1),
                Form.of(3, 5, 7).sharing(1, 2),
                Form.of(2, 17, 4, 3),
                Form.of(2, 17, 4, 3).sharing(2, 3),
                Form.of(2, 16, 20, 20).sharing(2, 3),
                Form.of(2, 1, 4, 3).sharing(2, 3),
                Form.of(2, 6, 4, 3).sharing(2),
                Form.of(2, 6, 4, 3).sharing(1),
                Form.of(2, 3, 4, 2, 3),
                Form.of(2, 3, 4, 2, 3).sharing(2, 3, 4));
    }

    /** {@code x < 0 ? slope * x : x}, its derivatives by x and by the slope, in double precision. */
    @ParameterizedTest
    @MethodSource("forms")
    void itComputesItsFormulaAndDerivatives(Form form) {
        Random random = new Random(form.shape.size());
        PReLULayer layer = form.layer();
        long number = layer.initializer().numParams(layer);
        INDArray params = gaussian(random, 0.5, number);
        INDArray input = gaussian(random, 1, form.sizes());
        // At zero the derivative is one, as ND4J's.
        input.putScalar(0, 0);
        INDArray epsilon = gaussian(random, 1, form.sizes());
        INDArray slopes = SingleLayer.dl4j(layer, params).getParam("W");
        INDArray[] expected = formula(input, slopes, epsilon);
        for (DataType type : Types.here()) {
            try (EngineSession session = new OneDnnEngine().session(number, true)) {
                TwinLayer twin = Layers.twin(session, layer, params, type);
                assertInstanceOf(PreluTwin.class, twin.twin().compute());
                for (boolean dense : new boolean[] {true, false}) {
                    INDArray given = dense ? input.castTo(type) : channelsLast(input.castTo(type));
                    SingleLayer.Result actual = SingleLayer.run(twin, given, epsilon.castTo(type));
                    Agreement.assertRoundedOnce(type + " output", expected[0], actual.output());
                    Agreement.assertRoundedOnce(type + " input gradient", expected[1], actual.inputGradient());
                    Agreement.assertWithin(type + " slopes", expected[2], actual.gradient("W"), 1e-5);
                }
            }
        }
    }

    private static INDArray channelsLast(INDArray array) {
        int rank = array.rank();
        int[] last = new int[rank];
        int[] back = new int[rank];
        for (int axis = 0; axis < rank; axis++) {
            last[axis] = axis == 0 ? 0 : axis == rank - 1 ? 1 : axis + 1;
            back[last[axis]] = axis;
        }
        return array.permute(last).dup('c').permute(back);
    }

    private static INDArray[] formula(INDArray input, INDArray slopes, INDArray epsilon) {
        INDArray output = Nd4j.create(DataType.DOUBLE, input.shape());
        INDArray inputGradient = Nd4j.create(DataType.DOUBLE, input.shape());
        INDArray gradient = Nd4j.create(DataType.DOUBLE, slopes.shape());
        for (long i = 0; i < input.length(); i++) {
            long[] at = place(i, input.shape());
            long[] slope = new long[slopes.rank()];
            for (int axis = 0; axis < slope.length; axis++) {
                slope[axis] = slopes.size(axis) == 1 ? 0 : at[axis + 1];
            }
            double x = input.getDouble(at);
            double g = epsilon.getDouble(at);
            boolean below = x < 0;
            output.putScalar(at, below ? x * slopes.getDouble(slope) : x);
            inputGradient.putScalar(at, below ? g * slopes.getDouble(slope) : g);
            gradient.putScalar(slope, gradient.getDouble(slope) + (below ? g * x : 0));
        }
        return new INDArray[] {output, inputGradient, gradient};
    }

    private static long[] place(long number, long... shape) {
        long[] place = new long[shape.length];
        long rest = number;
        for (int axis = shape.length - 1; axis >= 0; axis--) {
            place[axis] = rest % shape[axis];
            rest /= shape[axis];
        }
        return place;
    }

    /** Slopes that aren't zero, for each number of an example: of slopes for channels DL4J can't make a gradient. */
    private static MultiLayerNetwork network(CNN2DFormat format) {
        long[] shape = format == CNN2DFormat.NCHW ? new long[] {8, 6, 6} : new long[] {6, 6, 8};
        PReLULayer prelu = new PReLULayer.Builder()
                .inputShape(shape)
                .weightInit(new WeightInitDistribution(new UniformDistribution(0.1, 0.4)))
                .dropOut(0.8)
                .build();
        return Networks.init(Networks.builder(new Sgd(0.05))
                .list()
                .layer(new ConvolutionLayer.Builder(3, 3)
                        .nOut(8)
                        .dataFormat(format)
                        .activation(Activation.IDENTITY)
                        .build())
                .layer(prelu)
                .layer(new ConvolutionLayer.Builder(3, 3)
                        .nOut(4)
                        .dataFormat(format)
                        .activation(Activation.TANH)
                        .build())
                .layer(Networks.softmax(3))
                .setInputType(InputType.convolutional(8, 8, 3, format))
                .build());
    }

    @ParameterizedTest
    @EnumSource(CNN2DFormat.class)
    void networksTrainAndComputeAsInStockDl4j(CNN2DFormat format) {
        StockTraining.assertAgrees(network(format), format, 1);
    }

    @Test
    void inputOfAnotherShapeIsRejectedAsByDl4j() {
        PReLULayer layer = Form.of(3, 5, 7).layer();
        INDArray params = gaussian(new Random(1), 1, 35);
        INDArray input = gaussian(new Random(1), 1, 3, 5, 8);
        Class<?> expected = assertThrows(
                        RuntimeException.class, () -> SingleLayer.run(SingleLayer.dl4j(layer, params), input, input))
                .getClass();
        try (EngineSession session = new OneDnnEngine().session(35, true)) {
            TwinLayer twin = Layers.twin(session, layer, params, DataType.FLOAT);
            RuntimeException thrown = assertThrows(RuntimeException.class, () -> SingleLayer.run(twin, input, input));
            assertTrue(expected.isInstance(thrown), thrown::toString);
        }
    }
}
