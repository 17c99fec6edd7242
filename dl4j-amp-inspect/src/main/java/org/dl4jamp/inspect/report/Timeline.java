package org.dl4jamp.inspect.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.dl4jamp.listeners.StepFigures;

/**
 * The figures of a training over time. Each bin is one iteration at first. When there are too many, two neighbours
 * become one, and later bins are as wide. So counts, sums and extremes stay exact however long the training is.
 */
final class Timeline {
    /** The most bins. */
    static final int MOST = 2000;

    /**
     * The figures of one iteration, or of several in a row.
     *
     * @param first number of the first iteration, as DL4J counts
     * @param last number of the last iteration
     * @param iterations how many they are
     * @param loss the network's score
     * @param scale the loss scale after the iteration
     * @param seconds time of an iteration, where it was measured
     * @param memory bytes of the process' physical memory
     * @param skipped number of skipped steps
     */
    record Bin(
            int first, int last, long iterations, Range loss, Range scale, Range seconds, Range memory, long skipped) {
        /** @param skipped number of steps that the iteration has skipped */
        static Bin of(StepFigures figures, long skipped) {
            return new Bin(
                    figures.iteration(),
                    figures.iteration(),
                    1,
                    Range.of(figures.loss()),
                    Range.of(figures.lossScale()),
                    Range.of(figures.secondsPerIteration()),
                    Range.of((double) figures.memoryBytes()),
                    skipped);
        }

        /** Returns this bin and the next one as one. */
        Bin then(Bin next) {
            return new Bin(
                    first,
                    next.last,
                    iterations + next.iterations,
                    loss.then(next.loss),
                    scale.then(next.scale),
                    seconds.then(next.seconds),
                    memory.then(next.memory),
                    skipped + next.skipped);
        }

        Bin withSkipped(long more) {
            return new Bin(first, last, iterations, loss, scale, seconds, memory, skipped + more);
        }

        /** Returns the middle of its iterations. */
        double middle() {
            return (first + (double) last) / 2;
        }
    }

    private List<Bin> bins = new ArrayList<>();
    private long width = 1;
    private Optional<Bin> total = Optional.empty();

    /** Adds the next iteration. */
    void add(Bin iteration) {
        total = Optional.of(total.map(sum -> sum.then(iteration)).orElse(iteration));
        int end = bins.size() - 1;
        if (end >= 0 && bins.get(end).iterations() < width) {
            bins.set(end, bins.get(end).then(iteration));
            return;
        }
        if (bins.size() == MOST) {
            bins = halved(bins);
            width *= 2;
        }
        bins.add(iteration);
    }

    /** Counts skipped steps in addition to those of the last iteration. */
    void addSkipped(long more) {
        if (more > 0 && total.isPresent()) {
            total = total.map(sum -> sum.withSkipped(more));
            int end = bins.size() - 1;
            bins.set(end, bins.get(end).withSkipped(more));
        }
    }

    /** Returns the bins, which have the same number of iterations each, but for the last one. */
    List<Bin> bins() {
        return List.copyOf(bins);
    }

    /** Returns so many bins at most. */
    List<Bin> bins(int most) {
        List<Bin> fewer = bins;
        while (fewer.size() > most) {
            fewer = halved(fewer);
        }
        return List.copyOf(fewer);
    }

    /** Returns all iterations as one bin; empty if there was none. */
    Optional<Bin> total() {
        return total;
    }

    private static List<Bin> halved(List<Bin> bins) {
        List<Bin> half = new ArrayList<>();
        for (int i = 0; i < bins.size(); i += 2) {
            half.add(i + 1 < bins.size() ? bins.get(i).then(bins.get(i + 1)) : bins.get(i));
        }
        return half;
    }
}
