package org.dl4jamp.inspect.compare.report;

import java.util.ArrayList;
import java.util.List;
import org.dl4jamp.inspect.compare.Comparison;
import org.dl4jamp.inspect.compare.Trial;
import org.dl4jamp.precision.Precision;

/** The lines that come before the tables. */
final class Summary {
    private Summary() {}

    /** Returns what was compared, with the figures of the whole network. */
    static List<String> facts(String model, String data, Comparison comparison) {
        List<String> lines = new ArrayList<>();
        lines.add(model + ": " + comparison.network());
        lines.add(
                "Data: " + data + ", " + comparison.batches() + (comparison.batches() == 1 ? " batch, " : " batches, ")
                        + comparison.examples() + " examples; without dropout and weight noise");
        boolean half = !comparison.precision().equals(Precision.FLOAT.toString());
        lines.add((half ? "Mixed precision: " + comparison.precision() : "FP32") + " on engine " + comparison.engine()
                + ", beside stock DL4J in FP32");
        lines.add("Loss: stock DL4J " + Cells.value(comparison.lossInFp32())
                + comparison
                        .lossOfRounded()
                        .map(loss -> ", rounded weights alone " + Cells.value(loss))
                        .orElse("")
                + (half ? ", mixed precision " : ", on engine " + comparison.engine() + " ")
                + Cells.value(comparison.lossInMixed()));
        lines.add("All gradients: error " + Cells.error(comparison.gradients()) + ", cosine "
                + Cells.cosine(comparison.gradients())
                + comparison
                        .gradientsOfRounded()
                        .map(rounded -> "; rounded weights alone: error " + Cells.error(rounded))
                        .orElse("")
                + "; underflow " + Cells.share(comparison.gradients().vanished()));
        lines.add("Loss scale: " + Cells.value(comparison.lastScale())
                + (comparison.firstScale() == comparison.lastScale()
                        ? ""
                        : ", found from " + Cells.value(comparison.firstScale()) + " on, where gradients overflow"));
        comparison.skips().forEach(skip -> lines.add("A step that training skips: " + skip));
        return lines;
    }

    /** Returns a line for each policy that was run. */
    static List<String> trials(Comparison comparison) {
        return comparison.verdict().trials().stream().map(Summary::trial).toList();
    }

    private static String trial(Trial trial) {
        String result = trial.refused()
                .map(reason -> "not run: " + reason)
                .orElseGet(() -> (trial.mends() ? "mends it" : "doesn't mend it") + "; error of the weakest layer "
                        + Cells.number(trial.layer()) + ", of all gradients " + Cells.number(trial.gradients()));
        return trial.line() + ": " + result;
    }
}
