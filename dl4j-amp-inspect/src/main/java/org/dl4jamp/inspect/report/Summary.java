package org.dl4jamp.inspect.report;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;
import org.dl4jamp.inspect.report.Recording.Steps;
import org.dl4jamp.inspect.report.Timeline.Bin;
import org.dl4jamp.listeners.LayerStatisticsListener.Layer;
import org.dl4jamp.listeners.NumberStatistics;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * A training in a few figures and sentences.
 *
 * @param tiles the figures
 * @param sentences in plain words
 * @param findings what may need a look; none in most trainings
 */
record Summary(List<Tile> tiles, List<String> sentences, List<String> findings) {
    /** Layers that a finding names at most. */
    private static final int NAMED = 3;

    private static final double MANY_SKIPS = 0.05;
    private static final double MUCH_UNDERFLOW = 0.5;
    private static final double MUCH_SUBNORMAL = 0.01;
    private static final double MANY_NEAR = 0.01;

    /**
     * A figure.
     *
     * @param id for references to it
     */
    record Tile(String id, String name, String value, String note) {}

    /** Returns the summary of a recording that has an iteration. */
    static Summary of(Recording recording) {
        Bin total = recording.timeline().total().orElseThrow();
        return new Summary(tiles(recording, total), sentences(recording, total), findings(recording, total));
    }

    private static List<Tile> tiles(Recording recording, Bin total) {
        Optional<Setup.Amp> amp = recording.setup().amp();
        List<Tile> tiles = new ArrayList<>();
        tiles.add(new Tile(
                "precision",
                "Precision",
                amp.map(one -> name(one.plan().precision())).orElse("FP32"),
                amp.map(one -> "engine " + one.engine()).orElse("DL4J’s own")));
        tiles.add(new Tile(
                "loss",
                "Loss",
                Numbers.number(recording.lastLoss()),
                "from " + Numbers.number(total.loss().first())));
        if (amp.isPresent()) {
            Steps steps = recording.steps();
            tiles.add(new Tile(
                    "skipped",
                    "Steps skipped",
                    Numbers.whole(steps.skipped()),
                    "of " + Numbers.whole(steps.all())
                            + (steps.skipped() == 0 ? "" : ", " + Numbers.percent(share(steps)))));
        }
        if (isScaled(total)) {
            tiles.add(new Tile(
                    "scale",
                    "Loss scale",
                    Numbers.scale(total.scale().last()),
                    moves(total)
                            ? Numbers.scale(total.scale().least()) + " to "
                                    + Numbers.scale(total.scale().most())
                            : "all the time"));
        }
        medianSeconds(recording.timeline().bins())
                .ifPresent(seconds -> tiles.add(new Tile(
                        "time",
                        "Time of an iteration",
                        Numbers.time(seconds),
                        "median of " + Numbers.whole(total.seconds().count()))));
        tiles.add(new Tile(
                "memory", "Memory", Numbers.bytes(Math.round(total.memory().most())), "of the process, at most"));
        return tiles;
    }

    /** Returns whether the loss scale is one that does something. */
    static boolean isScaled(Bin total) {
        return !total.scale().isEmpty()
                && (total.scale().most() != 1 || total.scale().least() != 1);
    }

    /** Returns whether the loss scale has changed. */
    static boolean moves(Bin total) {
        return !total.scale().isEmpty() && total.scale().most() != total.scale().least();
    }

    private static String name(Precision precision) {
        return precision == Precision.FLOAT ? "FP32" : precision.toString();
    }

    private static double share(Steps steps) {
        return (double) steps.skipped() / steps.all();
    }

    /** Returns the median of the bins' means; of the iterations themselves while each has a bin. */
    static OptionalDouble medianSeconds(List<Bin> bins) {
        double[] sorted = bins.stream()
                .filter(bin -> !bin.seconds().isEmpty())
                .mapToDouble(bin -> bin.seconds().mean())
                .sorted()
                .toArray();
        if (sorted.length == 0) {
            return OptionalDouble.empty();
        }
        return OptionalDouble.of((sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2);
    }

    private static List<String> sentences(Recording recording, Bin total) {
        Setup setup = recording.setup();
        List<String> sentences = new ArrayList<>();
        sentences.add("The network is a " + setup.kind() + " of " + Numbers.counted(setup.layers(), "layer") + " and "
                + Numbers.counted(setup.parameters(), "parameter") + ".");
        sentences.add(
                setup.amp().map(Summary::precision).orElse("It trained without mixed precision, in DL4J’s FP32."));
        sentences.add("In " + Numbers.counted(total.iterations(), "iteration")
                + (recording.epochs() == 0 ? "" : " (" + Numbers.counted(recording.epochs(), "epoch") + ")")
                + " the loss went from " + Numbers.number(total.loss().first()) + " to "
                + Numbers.number(recording.lastLoss()) + ".");
        if (setup.amp().isPresent()) {
            sentences.add(steps(recording));
        }
        return sentences;
    }

    private static String precision(Setup.Amp amp) {
        long half = amp.plan().rows().stream()
                .filter(row -> row.precision().isHalf())
                .count();
        String note = amp.plan().note().isEmpty() ? "" : " (" + amp.plan().note() + ")";
        if (half == 0) {
            return "All layers computed in FP32 on engine " + amp.engine() + note + ".";
        }
        return half + " of " + Numbers.counted(amp.plan().rows().size(), "layer")
                + (amp.plan().rows().stream().allMatch(row -> row.layer()) ? "" : " and vertices") + " computed in "
                + amp.plan().precision() + note + ".";
    }

    private static String steps(Recording recording) {
        Steps steps = recording.steps();
        String group =
                recording.setup().amp().map(amp -> amp.config().accumulate()).orElse(1) > 1
                        ? ", each of "
                                + recording.setup().amp().orElseThrow().config().accumulate() + " calls of fit"
                        : "";
        Steps earlier = recording.earlierSteps();
        return Numbers.counted(steps.taken(), "step") + " updated the parameters" + group + ", and "
                + (steps.skipped() == 0
                        ? "none was skipped."
                        : Numbers.whole(steps.skipped()) + (steps.skipped() == 1 ? " was" : " were")
                                + " skipped. A skipped step changes nothing.")
                + (earlier.all() == 0
                        ? ""
                        : " Before this report, " + Numbers.counted(earlier.taken(), "step") + " updated them and "
                                + Numbers.whole(earlier.skipped()) + (earlier.skipped() == 1 ? " was" : " were")
                                + " skipped.");
    }

    private static List<String> findings(Recording recording, Bin total) {
        List<String> findings = new ArrayList<>();
        long bad = total.iterations() - total.loss().count();
        if (bad > 0) {
            findings.add("The loss was NaN or infinite in " + Numbers.counted(bad, "iteration") + ".");
        }
        Steps steps = recording.steps();
        if (steps.all() > 0 && share(steps) > MANY_SKIPS) {
            findings.add(Numbers.percent(share(steps))
                    + " of the steps were skipped. The section on skipped steps has their origin.");
        }
        if (recording.firstAmp().isPresent() && changed(recording)) {
            findings.add("The settings changed during training. The section on settings has both.");
        }
        List<Layer> layers = recording.layers().last();
        named(layers, Summary::underflow)
                .ifPresent(shares -> findings.add(
                        "Many gradients are zero, or so small that they have lost digits: " + shares + "."));
        named(layers, Summary::overflow)
                .ifPresent(shares ->
                        findings.add("Many gradients would overflow if they were twice as large: " + shares + "."));
        named(layers, layer -> near(layer.output()))
                .ifPresent(shares -> findings.add("Outputs of layers would overflow if they were twice as large: "
                        + shares + ". No loss scale changes that."));
        return findings;
    }

    /** Returns whether the settings or the plan aren't those of the begin. */
    static boolean changed(Recording recording) {
        Optional<Setup.Amp> now = recording.setup().amp();
        Optional<Setup.Amp> first = recording.firstAmp();
        return now.isPresent()
                && first.isPresent()
                && !now.get().config().toString().equals(first.get().config().toString());
    }

    /** Returns the layers with the largest shares, with these; empty if there are none. */
    private static Optional<String> named(List<Layer> layers, ToDoubleFunction<Layer> share) {
        List<String> names = layers.stream()
                .filter(layer -> share.applyAsDouble(layer) > 0)
                .sorted(Comparator.comparingDouble(share).reversed())
                .map(layer -> Numbers.percent(share.applyAsDouble(layer)) + " in “" + layer.layer() + "”")
                .toList();
        if (names.isEmpty()) {
            return Optional.empty();
        }
        int more = names.size() - NAMED;
        return Optional.of(String.join(", ", names.subList(0, Math.min(NAMED, names.size())))
                + (more > 0 ? " and less in " + Numbers.counted(more, "other layer") : ""));
    }

    /** Zeros alone may come from ReLU or dropout, so numbers that have lost digits have to be among them. */
    private static double underflow(Layer layer) {
        return layer.gradient()
                .filter(of -> of.subnormal() >= MUCH_SUBNORMAL && of.zero() + of.subnormal() >= MUCH_UNDERFLOW)
                .map(of -> of.zero() + of.subnormal())
                .orElse(0.0);
    }

    /** A dynamic loss scale grows until gradients overflow, so that a few of them are always near. */
    private static double overflow(Layer layer) {
        double near = near(layer.gradient());
        return near >= MANY_NEAR ? near : 0;
    }

    private static double near(Optional<NumberStatistics> numbers) {
        return numbers.filter(of -> of.type() == DataType.HALF)
                .map(of -> of.nearOverflow() + of.nonFinite())
                .orElse(0.0);
    }
}
