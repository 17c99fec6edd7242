package org.dl4jamp.inspect.report;

import java.lang.ref.WeakReference;
import java.time.Instant;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.listeners.LayerWatch;
import org.dl4jamp.listeners.SkipReport;
import org.dl4jamp.listeners.StepFigures;

/** All that is kept of the training of one network. Its size has a limit, however long the training is. */
final class Recording {
    private final WeakReference<Model> model;
    private final Timeline timeline = new Timeline();
    private final LayerTimeline layers = new LayerTimeline();
    private final SkipLog skips = new SkipLog();
    private final Instant begin = Instant.now();
    private final Environment environment = Environment.read();
    private Setup setup;
    private Optional<Setup.Amp> firstAmp = Optional.empty();
    private WeakReference<MixedPrecision> counted = new WeakReference<>(null);
    private Steps before = Steps.NONE;
    private Steps now = Steps.NONE;
    private Steps here = Steps.NONE;
    private double lastLoss;
    private int epochs;

    /** Numbers of steps, as {@link MixedPrecision} counts them. */
    record Steps(long taken, long skipped) {
        static final Steps NONE = new Steps(0, 0);

        static Steps of(MixedPrecision amp) {
            return new Steps(amp.stepsTaken(), amp.stepsSkipped());
        }

        Steps minus(Steps other) {
            return new Steps(taken - other.taken, skipped - other.skipped);
        }

        Steps plus(Steps other) {
            return new Steps(taken + other.taken, skipped + other.skipped);
        }

        long all() {
            return taken + skipped;
        }
    }

    Recording(Model model) {
        this.model = new WeakReference<>(model);
        setup = Setup.of(model);
        recount();
    }

    boolean isOf(Model other) {
        return model.get() == other;
    }

    /**
     * Takes the counts of a mixed precision that hasn't been counted yet as those before its first step here. Called
     * before each step.
     */
    void recount() {
        mixedPrecision().filter(amp -> amp != counted.get()).ifPresent(amp -> {
            counted = new WeakReference<>(amp);
            now = Steps.of(amp);
            if (here.all() == 0) {
                before = now;
            }
            setup = setup.with(amp);
            firstAmp = firstAmp.or(setup::amp);
        });
    }

    private Optional<MixedPrecision> mixedPrecision() {
        return Optional.ofNullable(model.get()).flatMap(MixedPrecision::of);
    }

    void add(StepFigures figures) {
        recount();
        lastLoss = figures.loss();
        timeline.add(Timeline.Bin.of(figures, count()));
    }

    /** Counts the steps since the last count, and returns how many of them were skipped. */
    private long count() {
        return mixedPrecision()
                .map(amp -> {
                    Steps more = Steps.of(amp).minus(now);
                    now = now.plus(more);
                    here = here.plus(more);
                    return more.skipped();
                })
                .orElse(0L);
    }

    void add(int iteration, LayerWatch watch) {
        layers.add(iteration, watch);
    }

    void add(SkipReport skip) {
        skips.add(skip);
    }

    void endEpoch() {
        epochs++;
    }

    /** Reads once more what may have changed since the last iteration, while the network is still there. */
    void refresh() {
        timeline.addSkipped(count());
        mixedPrecision().ifPresent(amp -> setup = setup.with(amp));
    }

    Timeline timeline() {
        return timeline;
    }

    LayerTimeline layers() {
        return layers;
    }

    SkipLog skips() {
        return skips;
    }

    Instant begin() {
        return begin;
    }

    Environment environment() {
        return environment;
    }

    /** Returns the first mixed precision that the network had, as it was then. */
    Optional<Setup.Amp> firstAmp() {
        return firstAmp;
    }

    /** Returns the network as it was last seen. */
    Setup setup() {
        return setup;
    }

    /** Returns the steps of this recording. */
    Steps steps() {
        return here;
    }

    /** Returns the steps that its mixed precision had counted before, as after a resume. */
    Steps earlierSteps() {
        return before;
    }

    /** Returns the loss of the last iteration; NaN or infinite if it was. */
    double lastLoss() {
        return lastLoss;
    }

    /** Returns how many epochs have ended. */
    int epochs() {
        return epochs;
    }
}
