package org.dl4jamp.benchmarks;

import java.util.List;
import org.dl4jamp.benchmarks.side.Records;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options of {@code amp bench} about records beside the time of a step. */
final class RecordOptions {
    @Option(
            names = "--profile",
            description = {
                "Records where a step's time goes, in one repetition of each side (default: of amp-fp32 and amp-bf16).",
                "Of DL4J's sides and ours; recording costs a little time itself."
            })
    private boolean profile;

    @Option(
            names = "--kernels",
            description = {
                "Shows the time of each kernel beside that of other sides (default: of amp-fp32, floor-fp32, and with"
                        + " --inference onnxruntime-fp32), and the time between kernels.",
                "Of ours, the floors and ONNX Runtime. Steps that are recorded and steps whose time is measured take"
                        + " turns."
            })
    private boolean kernels;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec;

    /** @throws ParameterException if both are asked for */
    Records records() {
        if (profile && kernels) {
            throw new ParameterException(
                    spec.commandLine(), "--profile, --kernels: a run records one of the two; leave the other away");
        }
        return profile ? Records.WORK : kernels ? Records.KERNELS : Records.NOTHING;
    }

    /** Returns how many repetitions there are of those asked for. */
    int repetitions(int wanted) {
        return profile ? 1 : wanted;
    }

    /** Returns what a run prints of a case. */
    String text(CaseFigures figures) {
        return switch (records()) {
            case NOTHING -> new FigureTable(figures).text();
            case WORK -> ProfileTable.text(figures);
            case KERNELS -> MarkdownReport.kernels(figures);
        };
    }

    /** Returns what a run writes of some cases, as Markdown. */
    String markdown(List<CaseFigures> cases, boolean inOneTable) {
        if (kernels) {
            return MarkdownReport.ofKernels(cases);
        }
        return inOneTable ? MarkdownReport.inOneTable(cases) : MarkdownReport.of(cases);
    }
}
