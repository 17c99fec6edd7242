package org.dl4jamp.benchmarks;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.dl4jamp.benchmarks.dl4j.ProfiledExecutioner;
import org.dl4jamp.benchmarks.side.Profile;
import org.dl4jamp.benchmarks.side.Task;
import org.dl4jamp.engine.WorkEvent;

/** The time of a step or pass by kind of work, and its most expensive parts. */
final class ProfileTable {
    private static final int MOST_EXPENSIVE = 12;
    private static final int LONGEST = 140;
    private static final Map<String, String> KINDS = new LinkedHashMap<>();

    static {
        KINDS.put(WorkEvent.PRIMITIVE, "oneDNN primitives");
        KINDS.put(WorkEvent.COPY, "casts and reorders");
        KINDS.put(WorkEvent.UPDATER, "updater");
        KINDS.put(WorkEvent.CHECK, "finite check");
        KINDS.put(ProfiledExecutioner.KIND, "other operations of ND4J");
    }

    private ProfileTable() {}

    /** Returns the profiles of a case's sides. */
    static String text(CaseFigures figures) {
        StringBuilder text = new StringBuilder();
        figures.sides().forEach((side, measured) -> {
            if (measured.isAvailable()) {
                text.append(text(figures.title() + ", " + side, measured.profile(), figures.task()));
            } else {
                text.append(side)
                        .append(" unavailable: ")
                        .append(measured.unavailable())
                        .append("\n\n");
            }
        });
        return text.toString();
    }

    private static String text(String title, Profile profile, Task task) {
        double step = profile.secondsPerStep();
        StringBuilder text = new StringBuilder(String.format(
                Locale.ROOT, "%s: %.2f ms/%s%n%n%-32s %9s %6s%n", title, 1e3 * step, task.unit(), "", "ms", "share"));
        double rest = step;
        for (Map.Entry<String, String> kind : KINDS.entrySet()) {
            double seconds = profile.secondsOf(kind.getKey());
            rest -= seconds;
            text.append(row(kind.getValue(), seconds, step));
        }
        text.append(row("the rest: DL4J and Java", rest, step));
        text.append(String.format(Locale.ROOT, "%n%9s %6s%n", "ms", "times"));
        profile.parts().stream()
                .limit(MOST_EXPENSIVE)
                .forEach(part -> text.append(String.format(
                        Locale.ROOT,
                        "%9.3f %6.1f  %s: %s%n",
                        1e3 * part.secondsPerStep(),
                        part.timesPerStep(),
                        part.kind(),
                        abbreviated(part.what()))));
        return text.append(System.lineSeparator()).toString();
    }

    /** Cuts the middle out, if it's long: the layer comes first, the direction last. */
    private static String abbreviated(String what) {
        return what.length() <= LONGEST
                ? what
                : what.substring(0, LONGEST / 2) + " ... " + what.substring(what.length() - LONGEST / 2);
    }

    private static String row(String name, double seconds, double step) {
        return String.format(Locale.ROOT, "%-32s %9.2f %5.1f%%%n", name, 1e3 * seconds, 100 * seconds / step);
    }
}
