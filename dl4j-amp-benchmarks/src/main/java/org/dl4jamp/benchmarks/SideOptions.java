package org.dl4jamp.benchmarks;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.dl4jamp.benchmarks.cases.BenchmarkCase;
import org.dl4jamp.benchmarks.process.Side;
import org.dl4jamp.benchmarks.side.Records;
import org.dl4jamp.benchmarks.side.Task;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The sides of {@code amp bench}: those asked for, or all that the cases and the task have. */
final class SideOptions {
    @Option(
            names = "--sides",
            split = ",",
            paramLabel = "SIDE",
            description = "Which sides, separated by commas (default: all of dl4j-fp32, dl4j-helpers-fp32, amp-auto,"
                    + " amp-fp32, amp-bf16,"
                    + " pytorch-fp32, pytorch-bf16, floor-fp32, floor-bf16; with --inference also"
                    + " pytorch-bf16-weights and onnxruntime-fp32; of the zoo dl4j-fp32, amp-auto). In training also"
                    + " amp-fp32-watched and amp-bf16-watched, with listeners that look at each layer. With"
                    + " --inference also amp-fp32-direct and amp-bf16-direct, by InferenceMode.output.")
    private List<String> sideKeys;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec;

    /**
     * Returns the sides to measure, in their order.
     *
     * @throws ParameterException if one doesn't exist, or not for these cases
     */
    List<Side> of(List<BenchmarkCase> cases, Task task, Records records) {
        Optional<BenchmarkCase> without =
                cases.stream().filter(each -> !each.hasBlueprint()).findFirst();
        if (sideKeys == null) {
            return usual(task, records, without.isPresent());
        }
        List<Side> sides;
        try {
            sides = sideKeys.stream()
                    .map(key -> Side.named(key, task))
                    .distinct()
                    .sorted()
                    .toList();
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), "--sides: " + e.getMessage(), e);
        }
        for (Side side : sides) {
            requireRecords(side, records);
            if (without.isPresent() && (side.isForeign() || side.isFloor())) {
                throw new ParameterException(
                        spec.commandLine(),
                        "--sides: there is no " + side.key() + " of "
                                + without.get().name() + ", only DL4J's sides and ours");
            }
        }
        return sides;
    }

    private static List<Side> usual(Task task, Records records, boolean isWithoutBlueprint) {
        return switch (records) {
            case NOTHING -> isWithoutBlueprint ? List.of(Side.DL4J_FP32, Side.AMP_AUTO) : Side.usual(task);
            case WORK -> List.of(Side.AMP_FP32, Side.AMP_BF16);
            case KERNELS -> {
                List<Side> others = isWithoutBlueprint ? List.of() : List.of(Side.ONNX_RUNTIME_FP32, Side.FLOOR_FP32);
                yield Stream.concat(Stream.of(Side.AMP_FP32), others.stream())
                        .filter(Side.of(task)::contains)
                        .toList();
            }
        };
    }

    private void requireRecords(Side side, Records records) {
        if (records == Records.WORK && !side.hasProfile()) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--profile: there is none of " + side.key() + ", only of DL4J's sides and ours");
        }
        if (records == Records.KERNELS && !side.hasKernels()) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--kernels: there are none of " + side.key() + ", only of ours, of the floors and of "
                            + Side.ONNX_RUNTIME_FP32.key());
        }
    }
}
