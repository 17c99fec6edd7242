package org.dl4jamp.inspect.report;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Collections;
import java.util.Optional;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AtomicFile;
import org.dl4jamp.listeners.FiguresListener;
import org.dl4jamp.listeners.LayerWatch;
import org.dl4jamp.listeners.SkipReport;
import org.dl4jamp.listeners.StepFigures;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.Skip;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A training listener that leaves a report on the training: one HTML file, which needs no network to be read.
 *
 * <pre>
 * try (AmpReport report = new AmpReport(Path.of("report.html"))) {
 *     net.setListeners(new AmpListener(), report);
 *     net.fit(iterator, epochs);
 * }
 * </pre>
 *
 * <p>The report holds a summary, loss and loss scale over time with the skipped steps, and the layers' shares of
 * numbers that underflow or almost overflow. It holds the plan, the settings, the origin of the last skipped steps, and
 * the environment, too. Without mixed precision it has loss and times.
 *
 * <p>The file is replaced atomically: at each moment there is a whole one.
 *
 * <ul>
 *   <li>At the end of each epoch, after the 20th at most once a second.
 *   <li>Every 30 seconds at most while iterations go on.
 *   <li>By {@link #close}: DL4J doesn't notify listeners of the end of training.
 * </ul>
 *
 * <p>Training never stops because of a report: one that can't be written is logged at WARN, and none follows. Memory
 * and file stay small in long trainings: neighbours become one, and no skipped step is left out of the counts.
 *
 * <p>Serves one network at a time, and one thread. With another network the report begins anew.
 */
public final class AmpReport extends FiguresListener implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(AmpReport.class);

    /** Default number of iterations from one look at the layers' numbers to the next. */
    public static final int DEFAULT_LAYER_INTERVAL = 100;

    /** Arrays before the first one that isn't finite, in what is reported of a skipped step. */
    private static final int LAYERS_BEFORE = 5;

    private static final int EPOCHS_ALWAYS_WRITTEN = 20;
    private static final long NANOS_BETWEEN_EPOCHS = TimeUnit.SECONDS.toNanos(1);
    private static final long NANOS_BETWEEN_ITERATIONS = TimeUnit.SECONDS.toNanos(30);

    /** Replaces a file. */
    interface Output {
        void write(Path file, AtomicFile.Content content) throws IOException;
    }

    private final Path file;
    private final int layerInterval;
    private final Output output;
    private final LongSupplier nanoTime;
    private final Set<MixedPrecision> observed = Collections.newSetFromMap(new WeakHashMap<>());
    private Optional<Recording> recording = Optional.empty();
    private Optional<LayerWatch> watch = Optional.empty();
    private long iterations;
    private long nextLook;
    private long lastWritten;
    private boolean closed;

    /**
     * As {@link #AmpReport(Path, int)}, with a look every {@value #DEFAULT_LAYER_INTERVAL} iterations.
     *
     * @throws AmpException if the file can't be written
     */
    public AmpReport(Path file) {
        this(file, DEFAULT_LAYER_INTERVAL);
    }

    /**
     * Makes a report. There is no file before it is written for the first time.
     *
     * @param file replaced if it is there
     * @param layerInterval number of iterations from one look at the layers' numbers to the next, at least 1
     * @throws AmpException if the file can't be written or the interval is less than 1
     */
    public AmpReport(Path file, int layerInterval) {
        this(file, layerInterval, AtomicFile::write, System::nanoTime);
    }

    AmpReport(Path file, int layerInterval, Output output, LongSupplier nanoTime) {
        super(1);
        if (layerInterval < 1) {
            throw new AmpException("layerInterval(" + layerInterval + "): the number of iterations between two looks at"
                    + " the layers has to be at least 1, such as " + DEFAULT_LAYER_INTERVAL);
        }
        this.file = AmpException.ifNull(file, "file", "the file to write to").toAbsolutePath();
        this.layerInterval = layerInterval;
        this.output = output;
        this.nanoTime = nanoTime;
        requireWritable(this.file);
    }

    private static void requireWritable(Path file) {
        if (Files.isDirectory(file)) {
            throw new AmpException("file: " + file + " is a folder; give the name of a file in it");
        }
        if (Files.exists(file) && !Files.isWritable(file)) {
            throw new AmpException("file: " + file + " is there and can't be written to; name another one");
        }
        if (Files.exists(file) && !Files.isRegularFile(file)) {
            return;
        }
        try {
            Path place = Files.exists(file) ? file.toRealPath() : file;
            Files.delete(Files.createTempFile(place.getParent(), ".", ".unfinished"));
        } catch (IOException e) {
            throw new AmpException(
                    "file: " + file + " can't be written (" + e + "); name a file in a folder that is there, and that"
                            + " new files can be made in",
                    e);
        }
    }

    /** Returns the absolute path of the file. */
    public Path file() {
        return file;
    }

    @Override
    protected boolean isRead() {
        return !closed;
    }

    @Override
    public void onEpochStart(Model model) {
        attach(model);
        super.onEpochStart(model);
    }

    /** Called between a backward pass and its update. */
    @Override
    public void onGradientCalculation(Model model) {
        attach(model);
    }

    private void attach(Model model) {
        if (model instanceof MultiLayerNetwork || model instanceof ComputationGraph) {
            attempt(() -> recordingOf(model).recount());
            MixedPrecision.of(model).ifPresent(amp -> observe(model, amp));
        }
    }

    private Recording recordingOf(Model model) {
        if (recording.isEmpty() || !recording.get().isOf(model)) {
            endLook();
            recording = Optional.of(new Recording(model));
            iterations = 0;
            nextLook = 0;
            lastWritten = nanoTime.getAsLong();
        }
        return recording.get();
    }

    private void observe(Model model, MixedPrecision amp) {
        if (observed.add(amp)) {
            amp.onSkip((skip, iteration) -> {
                if (isRead() && listeners(model).contains(this)) {
                    look(model, amp, skip, iteration);
                }
            });
        }
    }

    private static Collection<TrainingListener> listeners(Model model) {
        return model instanceof MultiLayerNetwork network
                ? network.getListeners()
                : ((ComputationGraph) model).getListeners();
    }

    private void look(Model model, MixedPrecision amp, Skip skip, int iteration) {
        try {
            recordingOf(model).add(SkipReport.of(model, amp, skip, iteration, LAYERS_BEFORE));
        } catch (RuntimeException e) {
            // Training never stops because of a look at it.
            LOG.warn("The skipped step of iteration {} can't be looked at", iteration, e);
        }
    }

    @Override
    protected void nextIsReported(Model model) {
        // Called twice before the first iteration of an epoch that follows another one.
        boolean due = iterations >= nextLook || watch.isPresent();
        endLook();
        if (due) {
            watch = MixedPrecision.of(model).map(amp -> LayerWatch.begin(model, amp));
            nextLook = watch.isPresent() ? iterations + layerInterval : nextLook;
        }
    }

    private void endLook() {
        watch.ifPresent(LayerWatch::close);
        watch = Optional.empty();
    }

    @Override
    protected void report(StepFigures figures) throws IOException {
        Recording present = recordingOf(network().orElseThrow());
        present.add(figures);
        iterations++;
        Optional<LayerWatch> ended = watch;
        endLook();
        ended.ifPresent(look -> present.add(figures.iteration(), look));
        if (nanoTime.getAsLong() - lastWritten >= NANOS_BETWEEN_ITERATIONS) {
            write(present, false);
        }
    }

    @Override
    protected void reportEpoch(Model model) throws IOException {
        if (closed || recording.isEmpty() || !recording.get().isOf(model)) {
            return;
        }
        Recording present = recording.get();
        present.endEpoch();
        if (present.epochs() <= EPOCHS_ALWAYS_WRITTEN || nanoTime.getAsLong() - lastWritten >= NANOS_BETWEEN_EPOCHS) {
            write(present, false);
        }
    }

    private void write(Recording present, boolean ended) throws IOException {
        present.refresh();
        byte[] page = Page.of(present, ended).getBytes(StandardCharsets.UTF_8);
        output.write(file, stream -> stream.write(page));
        lastWritten = nanoTime.getAsLong();
    }

    /**
     * Writes the file for the last time. Writes none if there was no iteration. Closing it twice does nothing, and
     * later iterations aren't reported.
     */
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            endLook();
            recording
                    .filter(present -> present.timeline().total().isPresent())
                    .ifPresent(present -> attempt(() -> write(present, true)));
        }
    }

    /** Returns its class and the file, for messages. */
    @Override
    public String toString() {
        return super.toString() + " to " + file;
    }
}
