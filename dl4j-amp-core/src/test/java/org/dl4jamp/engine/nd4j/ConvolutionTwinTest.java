package org.dl4jamp.engine.nd4j;

import static org.dl4jamp.engine.nd4j.TestArrays.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.Chain;
import org.dl4jamp.ConvolutionCase;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.SingleLayer.Result;
import org.dl4jamp.engine.nd4j.TwinHarness.Way;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.aggregator.AggregateWith;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

class ConvolutionTwinTest {
    private static final Random RANDOM = new Random(11);

    private enum Memory {
        CHANNELS_FIRST,
        CHANNELS_LAST,
        EXAMPLES_SECOND
    }

    @ParameterizedTest
    @CsvSource({
        // memory, minibatch, nIn, height, width, nOut, kernel, stride, padding, dilation, mode, activation, bias
        "CHANNELS_FIRST, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, Truncate, TANH, true",
        "CHANNELS_FIRST, 2, 3, 5, 4, 7, 1, 1, 1, 1, 0, 0, 1, 1, Truncate, RELU, true",
        "CHANNELS_LAST, 2, 3, 5, 4, 7, 1, 1, 1, 1, 0, 0, 1, 1, Same, TANH, false",
        "EXAMPLES_SECOND, 3, 2, 4, 4, 3, 1, 1, 1, 1, 0, 0, 1, 1, Strict, IDENTITY, true",
        "CHANNELS_FIRST, 2, 3, 5, 4, 4, 1, 1, 2, 1, 0, 0, 1, 1, Truncate, TANH, true",
        "CHANNELS_LAST, 2, 3, 5, 4, 4, 1, 1, 1, 1, 1, 0, 1, 1, Truncate, TANH, true",
        "CHANNELS_FIRST, 2, 3, 6, 7, 4, 3, 3, 1, 1, 0, 0, 1, 1, Truncate, TANH, true",
        "CHANNELS_LAST, 2, 3, 6, 7, 4, 3, 3, 1, 1, 1, 1, 1, 1, Truncate, RELU, false",
        "EXAMPLES_SECOND, 2, 3, 6, 7, 4, 3, 2, 2, 3, 1, 0, 1, 1, Truncate, IDENTITY, true",
        "CHANNELS_FIRST, 1, 2, 7, 9, 3, 3, 3, 2, 2, 0, 0, 1, 1, Strict, TANH, true",
        "CHANNELS_FIRST, 2, 2, 9, 8, 3, 3, 2, 1, 1, 2, 1, 2, 3, Truncate, TANH, true",
        "CHANNELS_LAST, 2, 2, 7, 5, 3, 3, 3, 1, 1, 0, 0, 1, 1, Same, TANH, true",
        "CHANNELS_FIRST, 2, 2, 7, 6, 3, 2, 4, 2, 3, 0, 0, 1, 1, Same, RELU, true",
        "CHANNELS_FIRST, 1, 3, 7, 6, 2, 3, 3, 1, 1, 0, 0, 2, 2, Same, SIGMOID, false"
    })
    void agreesWithDl4jsLayerWithinTheRoundingOfFactorsAndResults(
            Memory memory, @AggregateWith(ConvolutionCase.Row.class) ConvolutionCase tried) {
        ConvolutionLayer conf = tried.layer();
        INDArray params = gaussian(RANDOM, 0.5, TwinHarness.numberOfParams(conf));
        INDArray input = inMemory(memory, gaussian(RANDOM, 1, tried.shape()));
        org.deeplearning4j.nn.api.Layer dl4j = SingleLayer.dl4j(conf, params);
        INDArray epsilon = inMemory(
                memory,
                gaussian(
                        RANDOM,
                        1,
                        dl4j.activate(input.dup(), true, TwinHarness.noWorkspaces())
                                .shape()));
        TwinLayer twin = TwinHarness.twin(Way.HALF_PRODUCTS, conf, params);
        assertInstanceOf(ConvolutionTwin.class, twin.twin().compute());

        Result expected = SingleLayer.run(dl4j, input.dup('c'), epsilon.dup('c'));
        INDArray halfInput = inMemory(memory, TestArrays.half(input));
        Result actual = SingleLayer.run(twin, halfInput, inMemory(memory, TestArrays.half(epsilon)));
        assertEquals(DataType.HALF, actual.output().dataType());
        assertEquals(DataType.HALF, actual.inputGradient().dataType());

        ConvolutionReference half = new ConvolutionReference(conf, dl4j, input, epsilon, true);
        ConvolutionReference full = new ConvolutionReference(conf, dl4j, input, epsilon, false);
        Comparison.check("output", expected.output(), actual.output(), full::output, half::output);
        Comparison.check("W", expected.gradient("W"), actual.gradient("W"), full::weightGradient, half::weightGradient);
        Comparison.check(
                "input", expected.inputGradient(), actual.inputGradient(), full::inputGradient, half::inputGradient);
        if (conf.hasBias()) {
            Comparison.check(
                    "b",
                    expected.gradient("b").reshape(conf.getNOut()),
                    actual.gradient("b").reshape(conf.getNOut()),
                    full::biasGradient,
                    half::biasGradient);
        }
    }

    /** The same numbers in another order in memory. */
    private static INDArray inMemory(Memory memory, INDArray array) {
        return switch (memory) {
            case CHANNELS_FIRST -> array.dup('c');
            case CHANNELS_LAST -> array.permute(0, 2, 3, 1).dup('c').permute(0, 3, 1, 2);
            case EXAMPLES_SECOND -> array.permute(1, 0, 2, 3).dup('c').permute(1, 0, 2, 3);
        };
    }

    /** The same layer, on so little memory that it takes one or two examples at a time. */
    @ParameterizedTest
    @CsvSource({
        "7, 3, 1, 0, TANH, true, 1",
        "7, 3, 2, 1, RELU, false, 2",
        "5, 1, 1, 0, TANH, true, 2",
        "4, 2, 1, 0, IDENTITY, true, 3"
    })
    void slicesOfAMinibatchGiveWhatTheWholeGives(
            int minibatch, int kernel, int stride, int padding, Activation activation, boolean bias, int atOnce) {
        Random random = new Random(minibatch);
        ConvolutionLayer conf = new ConvolutionLayer.Builder(kernel, kernel)
                .stride(stride, stride)
                .padding(padding, padding)
                .nIn(5)
                .nOut(4)
                .hasBias(bias)
                .activation(activation)
                .build();
        INDArray params = gaussian(random, 0.5, TwinHarness.numberOfParams(conf));
        INDArray input = TestArrays.half(gaussian(random, 1, minibatch, 5, 9, 8));
        long out = (9 + 2L * padding - kernel) / stride + 1;
        long outWidth = (8 + 2L * padding - kernel) / stride + 1;
        long rows = out * outWidth;
        long columns = 5L * kernel * kernel;
        INDArray epsilon = TestArrays.half(gaussian(random, 1, minibatch, 4, out, outWidth));
        long[] largest = new long[1];
        Products watched = (a, b, result, kept, memory) -> {
            for (INDArray array : new INDArray[] {a, b, result}) {
                largest[0] = Math.max(largest[0], array.length());
            }
            TwinHarness.Way.HALF_PRODUCTS.products().orElseThrow().multiply(a, b, result, kept, memory);
        };
        Result whole = SingleLayer.run(sliced(conf, params, watched, Long.MAX_VALUE), input.dup(), epsilon.dup());
        assertEquals(minibatch * rows * columns, largest[0]);
        largest[0] = 0;
        long bytes = atOnce * rows * columns * 6 + 5;
        Result slices = SingleLayer.run(sliced(conf, params, watched, bytes), input.dup(), epsilon.dup());
        assertEquals(atOnce * rows * columns, largest[0], "the largest matrix");
        // Each example's numbers are the same sums; those of parameters are added up in another order.
        assertEquals(whole.output(), slices.output());
        assertEquals(whole.inputGradient(), slices.inputGradient());
        whole.gradient().gradientForVariable().forEach((name, gradient) -> {
            double error = gradient.distance2(slices.gradient(name));
            assertTrue(error <= 1e-5 * gradient.norm2Number().doubleValue(), () -> name + " is off by " + error);
        });
    }

    private static org.deeplearning4j.nn.api.Layer sliced(
            ConvolutionLayer conf, INDArray params, Products products, long sliceBytes) {
        org.deeplearning4j.nn.api.Layer master = SingleLayer.dl4j(conf, params);
        ConvolutionTwin twin = new ConvolutionTwin(master.conf(), products, sliceBytes);
        INDArray rounded = TestArrays.half(params).reshape(1, params.length());
        twin.setParamsViewArray(rounded);
        twin.setParamTable(conf.initializer().init(master.conf(), rounded, false));
        twin.setBackpropGradientsViewArray(master.getGradientsViewArray());
        return twin;
    }

    /** With its helper, which may be cuDNN's. */
    @Test
    void aLayerThatIsKeptFullIsDl4jsOwn() {
        ConvolutionLayer conf = new ConvolutionLayer.Builder(3, 3)
                .nIn(2)
                .nOut(5)
                .activation(Activation.TANH)
                .build();
        INDArray params = gaussian(new Random(1), 1, TwinHarness.numberOfParams(conf));
        org.deeplearning4j.nn.api.Layer master = SingleLayer.dl4j(conf, params);
        Nd4jSession session = new Nd4jSession(params.length(), true, Way.HALF_PRODUCTS.products());
        assertSame(
                master,
                session.twin(Chain.request(master, Precision.FLOAT, DataType.HALF))
                        .compute());
    }

    private static TwinLayer ofTwoChannels() {
        ConvolutionLayer conf = new ConvolutionLayer.Builder(3, 3)
                .nIn(2)
                .nOut(5)
                .activation(Activation.TANH)
                .build();
        return TwinHarness.twin(Way.HALF_PRODUCTS, conf, gaussian(RANDOM, 1, TwinHarness.numberOfParams(conf)));
    }

    @Test
    void handsItsOutputToAOneByOneConvolutionWithoutACopy() {
        TwinLayer twin = ofTwoChannels();
        INDArray output =
                twin.activate(TestArrays.half(gaussian(RANDOM, 1, 2, 2, 6, 6)), false, TwinHarness.noWorkspaces());
        ConvolutionLayer next =
                new ConvolutionLayer.Builder(1, 1).nIn(5).nOut(3).build();
        INDArray patches = new Im2Col(next, ConvolutionMode.Truncate, output)
                .of(output, WorkingMemory.forward(TwinHarness.noWorkspaces()));
        assertEquals(output.data().platformAddress(), patches.data().platformAddress());
    }

    @Test
    void refusesAnInputWithOtherChannels() {
        TwinLayer twin = ofTwoChannels();
        INDArray input = TestArrays.half(gaussian(RANDOM, 1, 2, 3, 6, 6));
        assertThrows(DL4JInvalidInputException.class, () -> twin.activate(input, false, TwinHarness.noWorkspaces()));
    }

    @Test
    void servesNoOtherFormatOrLayerNorSoftmax() {
        Layer plain = new ConvolutionLayer.Builder(2, 2)
                .nIn(2)
                .nOut(2)
                .activation(Activation.TANH)
                .build();
        Layer channelsLast = new ConvolutionLayer.Builder(2, 2)
                .nIn(2)
                .nOut(2)
                .dataFormat(CNN2DFormat.NHWC)
                .activation(Activation.TANH)
                .build();
        Layer softmax = new ConvolutionLayer.Builder(2, 2)
                .nIn(2)
                .nOut(2)
                .activation(Activation.SOFTMAX)
                .build();
        Layer deconvolution = new Deconvolution2D.Builder(2, 2)
                .nIn(2)
                .nOut(2)
                .activation(Activation.TANH)
                .build();
        assertEquals(
                List.of(true, false, false, false),
                List.of(plain, channelsLast, softmax, deconvolution).stream()
                        .map(Nd4jSession::hasHalfTwin)
                        .toList());
    }
}
