package org.dl4jamp.benchmarks.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.engine.Engines;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/**
 * The attention layer in mixed precision: its output and all its gradients are those of PyTorch's
 * {@code scaled_dot_product_attention} between products in double precision.
 */
class AttentionAgreesTest {
    private static final String OUTPUT = "output";
    private static final String INPUT = "input";
    private static final List<String> PROJECTIONS = List.of("Wq", "Wk", "Wv");
    private static final String OUTPUT_PROJECTION = "Wo";

    private static final double FP32 = 1e-5;
    private static final double ERROR_FACTOR = errorFactor();

    /** Projections, probabilities, and the gradients of both are rounded, besides inputs and weights. */
    private static final double ROUNDINGS = 2.5;

    /** @param masked whether the later steps of some sequences are padding */
    record Sizes(int minibatch, int time, int inputs, int heads, int headSize, int outputs, boolean masked) {
        INDArray mask() {
            INDArray mask = Nd4j.ones(DataType.FLOAT, minibatch, time);
            for (int example = 1; masked && example < minibatch; example++) {
                for (int step = time - example % time; step < time; step++) {
                    mask.putScalar(example, step, 0);
                }
            }
            return mask;
        }
    }

    static Stream<Sizes> sizes() {
        return Stream.of(
                new Sizes(3, 5, 6, 2, 3, 10, false),
                new Sizes(4, 7, 5, 1, 8, 5, true),
                new Sizes(1, 1, 4, 2, 2, 4, false),
                new Sizes(4, 64, 512, 8, 64, 512, false),
                new Sizes(3, 33, 96, 6, 20, 70, true));
    }

    /** The numbers of a comparison: input, gradient of the output, and parameters by name. */
    private record Numbers(INDArray input, INDArray epsilon, Map<String, INDArray> parameters) {
        Numbers rounded() {
            Map<String, INDArray> all = new LinkedHashMap<>();
            parameters.forEach((name, array) -> all.put(name, bfloat16(array)));
            return new Numbers(bfloat16(input), bfloat16(epsilon), all);
        }

        private static INDArray bfloat16(INDArray array) {
            return array.castTo(DataType.BFLOAT16).castTo(DataType.FLOAT);
        }
    }

    @ParameterizedTest
    @MethodSource("sizes")
    void inFp32ItIsWithinRounding(Sizes sizes) {
        Numbers numbers = numbers(sizes);
        Map<String, double[]> expected = pyTorch(sizes, numbers);
        Map<String, double[]> actual = mixedPrecision(sizes, numbers, Precision.FLOAT);
        expected.forEach((name, exact) -> {
            double difference = 0;
            for (int i = 0; i < exact.length; i++) {
                difference = Math.max(difference, Math.abs(actual.get(name)[i] - exact[i]));
            }
            double largest = largest(exact);
            assertTrue(difference <= FP32 * largest, sizes + " " + name + ": " + difference + " of " + largest);
        });
    }

    @ParameterizedTest
    @MethodSource("sizes")
    void inBfloat16ItIsAsCloseAsRoundingInputsAndWeightsAlone(Sizes sizes) {
        assumeTrue(hasBfloat16(), "oneDNN has no BFLOAT16 here");
        Numbers numbers = numbers(sizes);
        Map<String, double[]> expected = pyTorch(sizes, numbers);
        Map<String, double[]> rounded = pyTorch(sizes, numbers.rounded());
        Map<String, double[]> actual = mixedPrecision(sizes, numbers, Precision.BFLOAT16);
        expected.forEach((name, exact) -> {
            double limit = ROUNDINGS * distance(rounded.get(name), exact) + FP32 * largest(exact);
            double distance = distance(actual.get(name), exact);
            assertTrue(distance <= limit, sizes + " " + name + ": " + distance + ", limit " + limit);
        });
    }

    private static boolean hasBfloat16() {
        try {
            Engines.choose("onednn", Precision.BFLOAT16);
            return true;
        } catch (AmpException e) {
            return false;
        }
    }

    private static Numbers numbers(Sizes sizes) {
        Random random = new Random(5);
        long projected = (long) sizes.heads() * sizes.headSize();
        double perInput = 1 / Math.sqrt(sizes.inputs());
        Map<String, INDArray> parameters = new LinkedHashMap<>();
        PROJECTIONS.forEach(name -> parameters.put(
                name, gaussian(random, 1.5 * perInput, sizes.heads(), sizes.headSize(), sizes.inputs())));
        parameters.put(
                OUTPUT_PROJECTION, gaussian(random, 1 / Math.sqrt((double) projected), projected, sizes.outputs()));
        return new Numbers(
                gaussian(random, 1, sizes.minibatch(), sizes.inputs(), sizes.time()),
                gaussian(random, 1, sizes.minibatch(), sizes.outputs(), sizes.time()),
                parameters);
    }

    private static INDArray gaussian(Random random, double deviation, long... shape) {
        float[] numbers = new float[(int) Arrays.stream(shape).reduce(1, Math::multiplyExact)];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (float) (deviation * random.nextGaussian());
        }
        return Nd4j.create(numbers, shape, 'c');
    }

    private static Map<String, double[]> mixedPrecision(Sizes sizes, Numbers numbers, Precision precision) {
        MultiLayerNetwork net = network(sizes, numbers);
        AmpConfig config =
                AmpConfig.builder().precision(precision).engine("onednn").build();
        try (MixedPrecision amp = MixedPrecision.enable(net, config)) {
            return results(net, sizes, numbers);
        } finally {
            net.close();
        }
    }

    private static MultiLayerNetwork network(Sizes sizes, Numbers numbers) {
        MultiLayerNetwork net = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .updater(new Sgd(1))
                .list()
                .layer(new SelfAttentionLayer.Builder()
                        .nOut(sizes.outputs())
                        .nHeads(sizes.heads())
                        .headSize(sizes.headSize())
                        .projectInput(true)
                        .build())
                .setInputType(InputType.recurrent(sizes.inputs(), sizes.time()))
                .build());
        net.init();
        numbers.parameters().forEach((name, array) -> net.getParam("0_" + name).assign(array));
        return net;
    }

    private static Map<String, double[]> results(MultiLayerNetwork net, Sizes sizes, Numbers numbers) {
        net.setInput(numbers.input());
        if (sizes.masked()) {
            net.setLayerMaskArrays(sizes.mask(), null);
        }
        Map<String, double[]> all = new LinkedHashMap<>();
        all.put(OUTPUT, doubles(net.feedForward(true, false).get(1)));
        Pair<Gradient, INDArray> gradients = net.backpropGradient(numbers.epsilon(), LayerWorkspaceMgr.noWorkspaces());
        all.put(INPUT, doubles(gradients.getSecond()));
        numbers.parameters()
                .keySet()
                .forEach(name -> all.put(name, doubles(gradients.getFirst().getGradientFor("0_" + name))));
        return all;
    }

    /**
     * Returns by how much DL4J's gradients are too large. In DL4J 1.0.0-M2.1 a layer of SameDiff's adds the gradient of
     * its output up twice, so all its gradients are twice the true ones, in mixed precision as well.
     */
    private static double errorFactor() {
        Sizes sizes = new Sizes(2, 3, 4, 1, 4, 4, false);
        Numbers numbers = numbers(sizes);
        MultiLayerNetwork net = network(sizes, numbers);
        double stock = largest(results(net, sizes, numbers).get(OUTPUT_PROJECTION));
        double factor = stock / largest(pyTorch(sizes, numbers, 1).get(OUTPUT_PROJECTION));
        net.close();
        assertEquals(Math.rint(factor), factor, 1e-4);
        return Math.rint(factor);
    }

    private static double[] doubles(INDArray array) {
        return array.castTo(DataType.DOUBLE).dup('c').data().asDouble();
    }

    private static Map<String, double[]> pyTorch(Sizes sizes, Numbers numbers) {
        return pyTorch(sizes, numbers, ERROR_FACTOR);
    }

    private static Map<String, double[]> pyTorch(Sizes sizes, Numbers numbers, double errorFactor) {
        Map<String, Tensor> leaves = new LinkedHashMap<>();
        leaves.put(INPUT, leaf(numbers.input()));
        numbers.parameters().forEach((name, array) -> leaves.put(name, leaf(array)));
        Tensor steps = leaves.get(INPUT).transpose(1, 2);
        List<Tensor> heads = PROJECTIONS.stream()
                .map(name -> torch.linear(steps, leaves.get(name).flatten(0, 1))
                        .view(sizes.minibatch(), sizes.time(), sizes.heads(), sizes.headSize())
                        .transpose(1, 2))
                .toList();
        Tensor keys = doubleTensor(sizes.mask())
                .view(sizes.minibatch(), 1, 1, sizes.time())
                .to(ScalarType.Bool);
        Tensor attended = torch.scaled_dot_product_attention(
                heads.get(0),
                heads.get(1),
                heads.get(2),
                new TensorOptional(keys),
                0,
                false,
                new DoubleOptional(),
                false);
        Tensor output = torch.matmul(attended.transpose(1, 2).flatten(2, 3), leaves.get(OUTPUT_PROJECTION))
                .transpose(1, 2);
        output.mul(doubleTensor(numbers.epsilon().mul(errorFactor))).sum().backward();
        Map<String, double[]> all = new LinkedHashMap<>();
        all.put(OUTPUT, doubles(output.detach()));
        leaves.forEach((name, leaf) -> all.put(name, doubles(leaf.grad())));
        return all;
    }

    private static Tensor leaf(INDArray array) {
        Tensor leaf = doubleTensor(array);
        leaf.set_requires_grad(true);
        return leaf;
    }

    private static Tensor doubleTensor(INDArray array) {
        Tensor tensor = torch.zeros(array.shape()).to(ScalarType.Double);
        new DoublePointer(tensor.data_ptr()).put(doubles(array));
        return tensor;
    }

    private static double[] doubles(Tensor tensor) {
        Tensor contiguous = tensor.to(ScalarType.Double).contiguous();
        double[] numbers = new double[Math.toIntExact(contiguous.numel())];
        new DoublePointer(contiguous.data_ptr()).get(numbers);
        return numbers;
    }

    private static double largest(double[] numbers) {
        double largest = 0;
        for (double number : numbers) {
            largest = Math.max(largest, Math.abs(number));
        }
        return largest;
    }

    /** Returns the root of the mean square of the differences. */
    private static double distance(double[] numbers, double[] expected) {
        double sum = 0;
        for (int i = 0; i < expected.length; i++) {
            sum += Math.pow(numbers[i] - expected[i], 2);
        }
        return Math.sqrt(sum / expected.length);
    }
}
