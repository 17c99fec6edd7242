package org.dl4jamp.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/**
 * The work of a cluster's executors in mixed precision; its text is a table.
 *
 * @param executors each that has ended a task, lost ones too, in the order of their first reports
 */
public record SparkReport(List<ExecutorReport> executors) {
    private static final String[] TITLES = {
        "executor", "host", "engine", "precision", "loss scale", "steps taken", "skipped", "tasks"
    };

    public SparkReport {
        executors = List.copyOf(executors);
    }

    /** Steps that all executors have taken. */
    public long stepsTaken() {
        return executors.stream().mapToLong(ExecutorReport::stepsTaken).sum();
    }

    /** Steps that all executors have skipped. */
    public long stepsSkipped() {
        return executors.stream().mapToLong(ExecutorReport::stepsSkipped).sum();
    }

    /** Returns a table with a line for each executor and one for all. */
    @Override
    public String toString() {
        List<String[]> lines = new ArrayList<>();
        lines.add(TITLES);
        for (ExecutorReport each : executors) {
            lines.add(new String[] {
                each.executor(),
                each.host(),
                each.engine(),
                each.precision().name(),
                String.format(Locale.ROOT, "%s", each.lossScale()),
                Long.toString(each.stepsTaken()),
                Long.toString(each.stepsSkipped()),
                Integer.toString(each.tasks())
            });
        }
        int tasks = executors.stream().mapToInt(ExecutorReport::tasks).sum();
        lines.add(new String[] {
            "all", "", "", "", "", Long.toString(stepsTaken()), Long.toString(stepsSkipped()), Integer.toString(tasks)
        });
        int[] widths = IntStream.range(0, TITLES.length)
                .map(column -> lines.stream()
                        .mapToInt(line -> line[column].length())
                        .max()
                        .orElse(0))
                .toArray();
        StringBuilder table = new StringBuilder();
        for (String[] line : lines) {
            StringBuilder text = new StringBuilder();
            for (int column = 0; column < line.length; column++) {
                char[] gap = new char[widths[column] - line[column].length() + 2];
                Arrays.fill(gap, ' ');
                text.append(line[column]).append(gap);
            }
            table.append(text.toString().stripTrailing()).append(System.lineSeparator());
        }
        return table.toString();
    }
}
