package org.dl4jamp.benchmarks.onnxruntime;

import static org.dl4jamp.benchmarks.onnxruntime.OnnxGraph.attribute;

import ai.onnx.proto.OnnxMl.AttributeProto;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Parameter;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.blueprint.Window;

/**
 * A blueprint as a model of ONNX, for inference. Its input is {@value #INPUT}, its output {@value #OUTPUT}: of classes
 * and labels of pixels the probabilities. Sequences are {@code [minibatch, time, features]}, with an LSTM {@code [time,
 * minibatch, features]}, which is how ONNX has them there.
 */
final class OnnxNetwork {
    static final String INPUT = Blueprint.INPUT;
    static final String OUTPUT = "probabilities";

    private static final int GATES = 4;
    /** Input, output, forget, cell: of ONNX, in the blueprint's order, in which the last three are others. */
    private static final int[] GATE_ORDER = {0, 3, 1, 2};
    /** Input, output, forget: of ONNX, in the blueprint's order. */
    private static final int[] PEEPHOLE_ORDER = {0, 2, 1};

    private final Model model;
    private final OnnxGraph graph;
    private final long[] inputShape;
    private final boolean withStates;
    private final Map<String, long[]> states = new HashMap<>();
    /** The numbers of the last axis of what isn't an image. */
    private final Map<String, Long> widths = new HashMap<>();

    /**
     * @param inputShape the shape of {@value #INPUT}
     * @param withStates whether LSTMs begin with states that are inputs, and give those after the last time step as
     *     outputs
     */
    OnnxNetwork(Model model, long[] inputShape, boolean withStates) {
        this.model = model;
        this.inputShape = inputShape.clone();
        this.withStates = withStates;
        graph = new OnnxGraph(model.blueprint().name());
        graph.input(INPUT, inputShape);
        widths.put(INPUT, inputShape[inputShape.length - 1]);
        String last = INPUT;
        for (Operation operation : model.blueprint().operations()) {
            last = add(operation);
        }
        String probabilities =
                switch (model.blueprint().loss().kind()) {
                    case SQUARED_ERROR -> graph.node("Identity", OUTPUT, List.of(last));
                    case CROSS_ENTROPY -> graph.node("Softmax", OUTPUT, List.of(last), attribute("axis", -1));
                    case BINARY_CROSS_ENTROPY -> graph.node("Sigmoid", OUTPUT, List.of(last));
                };
        graph.output(probabilities, ordered(model, model.tensors().get(Blueprint.OUTPUT), inputShape));
    }

    /** Returns whether time is the first axis of its sequences. */
    static boolean isTimeFirst(Model model) {
        return model.blueprint().operations().stream().anyMatch(Operation.Lstm.class::isInstance);
    }

    /** Returns the shape of the output: that of DL4J's, or of as many time steps as the input has. */
    private static long[] ordered(Model model, Tensor output, long[] inputShape) {
        long[] shape = output.shape();
        return isTimeFirst(model) ? new long[] {inputShape[0], inputShape[1], shape[2]} : shape;
    }

    byte[] bytes() {
        return graph.bytes();
    }

    /** Returns the shapes of the states by the names of their inputs; {@link #next} names their outputs. */
    Map<String, long[]> states() {
        return Map.copyOf(states);
    }

    static String next(String state) {
        return state + "_next";
    }

    private String add(Operation operation) {
        String name = operation.name();
        List<String> inputs = operation.inputs();
        if (operation instanceof Operation.Convolution convolution) {
            return convolution(convolution);
        }
        if (operation instanceof Operation.BatchNormalization normalization) {
            return graph.node(
                    "BatchNormalization",
                    name,
                    List.of(
                            inputs.get(0),
                            constant(operation, Parameter.SCALE),
                            constant(operation, Parameter.SHIFT),
                            constant(operation, Parameter.MEAN),
                            constant(operation, Parameter.VARIANCE)),
                    attribute("epsilon", (float) normalization.epsilon()));
        }
        if (operation instanceof Operation.Relu) {
            widths.put(name, widths.get(inputs.get(0)));
            return graph.node("Relu", name, inputs);
        }
        if (operation instanceof Operation.MaxPooling pooling) {
            return graph.node("MaxPool", name, inputs, window(pooling.window()));
        }
        if (operation instanceof Operation.Flatten) {
            return graph.node("Flatten", name, inputs, attribute("axis", 1));
        }
        if (operation instanceof Operation.Dense dense) {
            return dense(dense);
        }
        if (operation instanceof Operation.Lstm lstm) {
            return lstm(lstm);
        }
        if (operation instanceof Operation.Attention attention) {
            return attention(attention);
        }
        if (operation instanceof Operation.Add) {
            widths.put(name, widths.get(inputs.get(0)));
            return graph.node("Add", name, inputs);
        }
        if (operation instanceof Operation.Merge) {
            return graph.node("Concat", name, inputs, attribute("axis", 1));
        }
        if (operation instanceof Operation.Upsampling upsampling) {
            return upsampling(upsampling);
        }
        throw new IllegalArgumentException("ONNX Runtime's side has no operation " + operation);
    }

    private String convolution(Operation.Convolution convolution) {
        return graph.node(
                "Conv",
                convolution.name(),
                List.of(
                        convolution.inputs().get(0),
                        constant(convolution, Parameter.WEIGHTS),
                        constant(convolution, Parameter.BIAS)),
                window(convolution.window()));
    }

    private static AttributeProto[] window(Window window) {
        Window.Padding padding = window.padding();
        return new AttributeProto[] {
            attribute("kernel_shape", List.of((long) window.height(), (long) window.width())),
            attribute("strides", List.of((long) window.strideY(), (long) window.strideX())),
            attribute("pads", List.of((long) padding.top(), (long) padding.left(), (long) padding.bottom(), (long)
                    padding.right()))
        };
    }

    /** The product is one of matrices: that of three axes has no bias, and takes longer. */
    private String dense(Operation.Dense dense) {
        String name = dense.name();
        Tensor weights = model.tensors().get(dense, Parameter.WEIGHTS);
        List<String> operands = new ArrayList<>(List.of(
                reshape(name + "/rows", dense.inputs().get(0), -1, weights.size(1)),
                constant(dense, Parameter.WEIGHTS)));
        if (dense.bias()) {
            operands.add(constant(dense, Parameter.BIAS));
        }
        String product =
                graph.node("Gemm", inputShape.length == 3 ? name + "/product" : name, operands, attribute("transB", 1));
        widths.put(name, weights.size(0));
        return inputShape.length == 3 ? reshape(name, product, inputShape[0], inputShape[1], weights.size(0)) : product;
    }

    private String reshape(String name, String input, long... shape) {
        return graph.node("Reshape", name, List.of(input, graph.constant(name + "/shape", shape)));
    }

    private String lstm(Operation.Lstm lstm) {
        String name = lstm.name();
        Tensor bias = model.tensors().get(lstm, Parameter.BIAS);
        long hidden = bias.size(0) / GATES;
        List<String> inputs = new ArrayList<>(List.of(
                lstm.inputs().get(0),
                gates(lstm, Parameter.INPUT_WEIGHTS),
                gates(lstm, Parameter.RECURRENT_WEIGHTS),
                graph.constant(name + "/bias", biases(bias)),
                OnnxGraph.ABSENT));
        List<String> outputs = new ArrayList<>(List.of(name + "/all"));
        if (withStates) {
            for (String state : List.of(name + "/h", name + "/c")) {
                long[] shape = {1, inputShape[1], hidden};
                graph.input(state, shape);
                graph.output(next(state), shape);
                states.put(state, shape);
                inputs.add(state);
                outputs.add(next(state));
            }
        } else if (lstm.peepholes()) {
            inputs.addAll(List.of(OnnxGraph.ABSENT, OnnxGraph.ABSENT));
        }
        if (lstm.peepholes()) {
            Tensor peepholes = model.tensors().get(lstm, Parameter.PEEPHOLES);
            inputs.add(graph.constant(
                    name + "/peepholes", reordered(peepholes, PEEPHOLE_ORDER).reshape(1, 3 * hidden)));
        }
        graph.node("LSTM", name + "/lstm", inputs, outputs, attribute("hidden_size", hidden));
        widths.put(name, hidden);
        return graph.node("Squeeze", name, List.of(name + "/all", graph.constant(name + "/direction", 1)));
    }

    private String gates(Operation.Lstm lstm, Parameter parameter) {
        Tensor weights = reordered(model.tensors().get(lstm, parameter), GATE_ORDER);
        return graph.constant(
                Blueprint.parameter(lstm, parameter), weights.reshape(1, weights.size(0), weights.size(1)));
    }

    /** ONNX adds two biases. */
    private static Tensor biases(Tensor bias) {
        int length = bias.values().length;
        float[] both = new float[2 * length];
        System.arraycopy(reordered(bias, GATE_ORDER).values(), 0, both, 0, length);
        return new Tensor(new long[] {1, 2L * length}, both);
    }

    /** Returns parts of the same length in another order. */
    private static Tensor reordered(Tensor tensor, int[] order) {
        float[] values = tensor.values();
        int part = values.length / order.length;
        float[] reordered = new float[values.length];
        for (int i = 0; i < order.length; i++) {
            System.arraycopy(values, order[i] * part, reordered, i * part, part);
        }
        return new Tensor(tensor.shape(), reordered);
    }

    private String attention(Operation.Attention attention) {
        String name = attention.name();
        String input = attention.inputs().get(0);
        long heads = attention.heads();
        long size = widths.get(input) / 3 / heads;
        String parts = graph.node(
                "Transpose",
                name + "/parts",
                List.of(reshape(name + "/heads", input, inputShape[0], inputShape[1], 3, heads, size)),
                attribute("perm", List.of(2L, 0L, 3L, 1L, 4L)));
        List<String> three =
                graph.node("Split", name + "/split", List.of(parts), List.of(name + "/q3", name + "/k3", name + "/v3"));
        String axis = graph.constant(name + "/axis", 0);
        String queries = graph.node("Squeeze", name + "/q", List.of(three.get(0), axis));
        String keys = graph.node("Squeeze", name + "/k", List.of(three.get(1), axis));
        String values = graph.node("Squeeze", name + "/v", List.of(three.get(2), axis));
        String turned =
                graph.node("Transpose", name + "/turned", List.of(keys), attribute("perm", List.of(0L, 1L, 3L, 2L)));
        String scale = graph.constant(
                name + "/scale", new Tensor(new long[] {1}, new float[] {(float) (1 / Math.sqrt((double) size))}));
        String scaled = graph.node(
                "Mul",
                name + "/scaled",
                List.of(graph.node("MatMul", name + "/scores", List.of(queries, turned)), scale));
        String weights = graph.node("Softmax", name + "/weights", List.of(scaled), attribute("axis", -1));
        String sums = graph.node(
                "Transpose",
                name + "/sums",
                List.of(graph.node("MatMul", name + "/products", List.of(weights, values))),
                attribute("perm", List.of(0L, 2L, 1L, 3L)));
        widths.put(name, heads * size);
        return reshape(name, sums, inputShape[0], inputShape[1], heads * size);
    }

    private String upsampling(Operation.Upsampling upsampling) {
        String name = upsampling.name();
        String scales = graph.constant(
                name + "/scales",
                new Tensor(new long[] {4}, new float[] {1, 1, upsampling.rows(), upsampling.columns()}));
        return graph.node(
                "Resize",
                name,
                List.of(upsampling.inputs().get(0), OnnxGraph.ABSENT, scales),
                attribute("mode", "nearest"),
                attribute("coordinate_transformation_mode", "asymmetric"),
                attribute("nearest_mode", "floor"));
    }

    private String constant(Operation operation, Parameter parameter) {
        return graph.constant(
                Blueprint.parameter(operation, parameter), model.tensors().get(operation, parameter));
    }
}
