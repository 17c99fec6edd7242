package org.dl4jamp.benchmarks.onnxruntime;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.dl4jamp.benchmarks.kernels.KernelNames;
import org.dl4jamp.benchmarks.kernels.KernelReport;
import org.dl4jamp.benchmarks.side.Profile;

/**
 * Reads the profile that a session of ONNX Runtime writes: a list of events, one for each operator and one at the end
 * of each run. Channels of images are counted as it computes them: filled up to whole registers, 20 to 24 with AVX2.
 *
 * @see <a href="https://onnxruntime.ai/docs/performance/tune-performance/profiling-tools.html">Profiling tools</a>
 */
final class OnnxRuntimeProfile {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** The kinds of operators, but for those with weights. */
    private static final Map<String, List<String>> KINDS = Map.of(
            KernelNames.POOLING, List.of("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"),
            KernelNames.SOFTMAX, List.of("Softmax"),
            KernelNames.NORMALIZATION, List.of("BatchNormalization", "LayerNormalization", "LRN"),
            KernelNames.RECURRENT, List.of("LSTM", "RNN", "GRU"),
            KernelNames.ACTIVATION, List.of("Relu", "Tanh", "Sigmoid", "Elu", "LeakyRelu", "Softplus"),
            KernelNames.BINARY, List.of("Add", "Sub", "Mul", "Div", "Sum", "Max", "Min"),
            KernelNames.COPIES,
                    List.of(
                            "ReorderInput",
                            "ReorderOutput",
                            "Transpose",
                            "Reshape",
                            "Flatten",
                            "Squeeze",
                            "Unsqueeze",
                            "Concat",
                            "Slice",
                            "Identity"));

    private record Run(String operator, String name, double seconds) {}

    private OnnxRuntimeProfile() {}

    /**
     * Reads the operators of the last steps.
     *
     * @param steps how many
     * @param runs of each step
     */
    static Profile read(File file, int steps, int runs) throws IOException {
        Deque<List<Run>> last = new ArrayDeque<>();
        List<Run> current = new ArrayList<>();
        try (MappingIterator<JsonNode> events = JSON.readerFor(JsonNode.class).readValues(file)) {
            while (events.hasNext()) {
                JsonNode event = events.next();
                String name = event.path("name").asText();
                if (name.equals("model_run")) {
                    last.addLast(current);
                    current = new ArrayList<>();
                    if (last.size() > steps * runs) {
                        last.removeFirst();
                    }
                } else if (event.path("cat").asText().equals("Node") && name.endsWith("_kernel_time")) {
                    current.add(run(event));
                }
            }
        }
        if (last.size() < steps * runs) {
            throw new IOException("ONNX Runtime's profile " + file + " has " + last.size() + " runs of " + steps * runs
                    + ": it ends after a million operators; measure fewer passes, with --seconds or --steps");
        }
        KernelReport report = new KernelReport();
        while (!last.isEmpty()) {
            for (int run = 0; run < runs; run++) {
                last.removeFirst().forEach(each -> report.add(each.operator(), each.name(), each.seconds()));
            }
            report.endStep();
        }
        return report.profile();
    }

    private static Run run(JsonNode event) {
        JsonNode details = event.path("args");
        String operator = details.path("op_name").asText();
        return new Run(
                operator, name(operator, details), 1e-6 * event.path("dur").asDouble());
    }

    private static String name(String operator, JsonNode details) {
        JsonNode inputs = details.path("input_type_shape");
        JsonNode outputs = details.path("output_type_shape");
        switch (operator) {
            case "Conv", "FusedConv", "ConvTranspose" -> {
                return convolution(shape(inputs, 0), shape(inputs, 1), shape(outputs, 0));
            }
            case "Gemm", "FusedGemm", "MatMul", "FusedMatMul" -> {
                List<Long> rows = shape(inputs, 0);
                List<Long> products = shape(outputs, 0);
                long units = products.get(products.size() - 1);
                return KernelNames.product(rows.get(rows.size() - 1), units, product(products) / units);
            }
            default -> {
                return KINDS.entrySet().stream()
                        .filter(kind -> kind.getValue().contains(operator))
                        .map(Map.Entry::getKey)
                        .findFirst()
                        .orElse(operator);
            }
        }
    }

    private static String convolution(List<Long> images, List<Long> weights, List<Long> results) {
        String window = weights.stream().skip(2).map(String::valueOf).collect(Collectors.joining("×"));
        long channels = images.get(1);
        long units = results.get(1);
        return KernelNames.product(window, channels, units, channels / weights.get(1), product(results) / units);
    }

    /** Returns the shape of an array such as {@code {"float": [1, 64, 55, 55]}}. */
    private static List<Long> shape(JsonNode arrays, int which) {
        JsonNode lengths = arrays.path(which).elements().next();
        return StreamSupport.stream(lengths.spliterator(), false)
                .map(JsonNode::asLong)
                .toList();
    }

    private static long product(List<Long> shape) {
        return shape.stream().reduce(1L, Math::multiplyExact);
    }
}
