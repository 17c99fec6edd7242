package org.dl4jamp.inspect.doctor;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.dl4jamp.inspect.machine.AutomaticChoice;
import org.dl4jamp.inspect.speed.SideSpeed;
import org.dl4jamp.inspect.speed.SpeedReport;
import org.dl4jamp.inspect.speed.WorkloadSpeed;
import org.dl4jamp.inspect.text.Paragraphs;

/** A measurement as text for a terminal. */
public final class SpeedText {
    private static final String NEW_LINE = System.lineSeparator();

    /** Other programs that take more of the processors than this change the figures. */
    private static final double BUSY = 0.1;

    private SpeedText() {}

    /** Returns the sections on the measured times and on what they predict. */
    public static String of(SpeedReport speed, AutomaticChoice automatic) {
        List<String> lines = new ArrayList<>();
        lines.add(String.format(
                Locale.ROOT, "Speed, measured in %.1f s: milliseconds for a training step", speed.seconds()));
        lines.add(header(speed.networks().get(0)));
        speed.networks().forEach(network -> lines.add(row(network)));
        for (WorkloadSpeed network : speed.networks()) {
            lines.add(Paragraphs.wrapped("  ", network.kind() + ": " + network.description() + "."));
            unmeasured(network, lines);
        }
        lines.add(String.format(Locale.ROOT, "  memory: %.1f GB/s", speed.memoryGigabytesPerSecond()));
        if (speed.othersShare() != null && speed.othersShare() > BUSY) {
            lines.add(Paragraphs.wrapped(
                    "  ! ",
                    String.format(
                            Locale.ROOT,
                            "Other programs took %.0f %% of the processors meanwhile. Measure again when they rest.",
                            100 * speed.othersShare())));
        }
        lines.add("");
        lines.add("Prediction: training with AUTO (" + choice(automatic) + ") against stock DL4J");
        speed.networks().forEach(network -> lines.add(prediction(network)));
        return String.join(NEW_LINE, lines) + NEW_LINE;
    }

    private static String choice(AutomaticChoice automatic) {
        return automatic.dl4jAsIs()
                ? automatic.precision() + ", as DL4J computes it"
                : automatic.precision() + " on engine " + automatic.engine();
    }

    private static String header(WorkloadSpeed network) {
        StringBuilder header = new StringBuilder(String.format("  %-14s %12s", "", "stock DL4J"));
        network.sides()
                .forEach(side -> header.append(String.format(
                        "  %20s", side.precision() + ", " + side.engine() + (side.automatic() ? " *" : ""))));
        return header.toString();
    }

    private static String row(WorkloadSpeed network) {
        StringBuilder row = new StringBuilder(String.format("  %-14s %12s", network.kind(), time(network.stock())));
        network.sides().forEach(side -> row.append(String.format("  %20s", time(side))));
        return row.toString();
    }

    private static void unmeasured(WorkloadSpeed network, List<String> lines) {
        if (network.stock().unmeasured() != null) {
            lines.add(Paragraphs.wrapped(
                    "    ", "not measured: " + network.stock().unmeasured()));
            return;
        }
        for (SideSpeed side : network.sides()) {
            if (side.unmeasured() != null) {
                lines.add(Paragraphs.wrapped("    ", side.precision() + " not measured: " + side.unmeasured()));
            }
        }
    }

    private static String prediction(WorkloadSpeed network) {
        return String.format("  %-14s ", network.kind())
                + (network.prediction() == null ? "not measured" : times(network.prediction()) + " times as fast");
    }

    private static String time(SideSpeed side) {
        if (side.millis() == null) {
            return "-";
        }
        String millis = digits(side.millis());
        return side.engine() == null ? millis : millis + " (" + times(side.timesFaster()) + "x)";
    }

    /** Returns a number with three digits at most, but for larger ones. */
    static String digits(double number) {
        return String.format(Locale.ROOT, number < 10 ? "%.2f" : number < 100 ? "%.1f" : "%.0f", number);
    }

    private static String times(double factor) {
        return String.format(Locale.ROOT, factor < 10 ? "%.1f" : "%.0f", factor);
    }
}
