package org.dl4jamp.benchmarks.stage;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Window;

/**
 * Stages that compute no positions that nobody reads. A pointwise convolution with steps of two reads every other
 * position of its input. If nothing else reads that, what is before it takes these steps, and pointwise convolutions in
 * between compute the same positions.
 */
public final class SampledStages {
    private static final Steps ONE = new Steps(1, 1);

    private record Steps(int y, int x) {}

    private final List<Stage> stages;
    /** The steps between the positions of an output that are read. */
    private final Map<String, Steps> sampled = new HashMap<>();

    private SampledStages(List<Stage> stages) {
        this.stages = stages;
    }

    /** Returns stages that compute the same last output. */
    public static List<Stage> of(List<Stage> stages) {
        SampledStages some = new SampledStages(stages);
        some.find();
        return some.rewritten();
    }

    private void find() {
        for (int at = stages.size() - 1; at >= 0; at--) {
            Stage stage = stages.get(at);
            boolean canTakeSteps = !isPointwise(stage) || steps(stage).equals(ONE);
            if (window(stage).isPresent() && canTakeSteps) {
                stepsOfReaders(stage.output()).ifPresent(steps -> sampled.put(stage.output(), steps));
            }
        }
        boolean changes;
        do {
            changes = sampled.keySet().removeIf(output -> !isConsistent(output));
        } while (changes);
    }

    private static Optional<Window> window(Stage stage) {
        if (stage.head() instanceof Operation.Convolution convolution) {
            return Optional.of(convolution.window());
        }
        return stage.head() instanceof Operation.MaxPooling pooling ? Optional.of(pooling.window()) : Optional.empty();
    }

    private static boolean isPointwise(Stage stage) {
        return stage.head() instanceof Operation.Convolution convolution
                && convolution.window().height() == 1
                && convolution.window().width() == 1
                && convolution.window().padding().equals(Window.Padding.NONE);
    }

    private static Steps steps(Stage stage) {
        Window window = window(stage).orElseThrow();
        return new Steps(window.strideY(), window.strideX());
    }

    /** Returns the steps of all that read an output; empty if they differ, or if one reads all positions. */
    private Optional<Steps> stepsOfReaders(String output) {
        List<Optional<Steps>> distinct = stages.stream()
                .filter(stage -> stage.inputs().contains(output))
                .map(stage -> stepsOfReader(stage, output))
                .distinct()
                .toList();
        return distinct.size() == 1 ? distinct.get(0) : Optional.empty();
    }

    private Optional<Steps> stepsOfReader(Stage reader, String output) {
        if (!isPointwise(reader) || reader.summand().equals(Optional.of(output))) {
            return Optional.empty();
        }
        Steps own = steps(reader);
        return own.equals(ONE) ? Optional.ofNullable(sampled.get(reader.output())) : Optional.of(own);
    }

    /** Returns whether an output's readers take the positions, and a pointwise convolution finds these alone. */
    private boolean isConsistent(String output) {
        Stage stage = stages.stream()
                .filter(each -> each.output().equals(output))
                .findFirst()
                .orElseThrow();
        Steps steps = sampled.get(output);
        return stepsOfReaders(output).equals(Optional.of(steps))
                && (!isPointwise(stage)
                        || steps.equals(sampled.get(stage.head().inputs().get(0))));
    }

    private List<Stage> rewritten() {
        List<Stage> all = new ArrayList<>();
        for (Stage stage : stages) {
            Steps steps = sampled.get(stage.output());
            Optional<String> summand = stage.summand();
            if (steps != null && summand.isPresent()) {
                String some = summand.get() + " at positions of " + stage.output();
                Window copied = new Window(1, 1, steps.y(), steps.x(), Window.Padding.NONE);
                Operation copy = new Operation.MaxPooling(some, List.of(summand.get()), copied);
                all.add(new Stage(copy, Optional.empty(), Optional.empty(), false, some));
                summand = Optional.of(some);
            }
            all.add(new Stage(head(stage), stage.normalization(), summand, stage.relu(), stage.output()));
        }
        return all;
    }

    private Operation head(Stage stage) {
        Steps steps = sampled.get(stage.output());
        boolean readsPositionsAlone =
                isPointwise(stage) && sampled.containsKey(stage.head().inputs().get(0));
        if (readsPositionsAlone) {
            return withWindow(stage.head(), new Window(1, 1, 1, 1, Window.Padding.NONE));
        }
        if (steps == null) {
            return stage.head();
        }
        Window all = window(stage).orElseThrow();
        return withWindow(
                stage.head(),
                new Window(
                        all.height(),
                        all.width(),
                        all.strideY() * steps.y(),
                        all.strideX() * steps.x(),
                        all.padding()));
    }

    private static Operation withWindow(Operation head, Window window) {
        return head instanceof Operation.MaxPooling
                ? new Operation.MaxPooling(head.name(), head.inputs(), window)
                : new Operation.Convolution(head.name(), head.inputs(), window);
    }
}
