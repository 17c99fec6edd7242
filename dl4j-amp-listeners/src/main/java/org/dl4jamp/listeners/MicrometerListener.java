package org.dl4jamp.listeners;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.BaseUnits;
import java.util.function.ToDoubleFunction;
import org.dl4jamp.precision.AmpException;

/**
 * Registers the {@linkplain StepFigures figures} of training as Micrometer's meters, for Prometheus and the like:
 *
 * <ul>
 *   <li>gauges {@code dl4jamp.loss}, {@code dl4jamp.loss.scale}, {@code dl4jamp.iteration.time} in seconds,
 *       {@code dl4jamp.examples.per.second} and {@code dl4jamp.memory} in bytes
 *   <li>counters {@code dl4jamp.steps.taken} and {@code dl4jamp.steps.skipped}
 * </ul>
 *
 * <p>Figures that aren't there are NaN. Networks of one registry need tags that tell them apart. Needs the library
 * {@code io.micrometer:micrometer-core}, which dl4j-amp doesn't bring along.
 */
public class MicrometerListener extends FiguresListener {
    private volatile StepFigures last;

    /**
     * Registers the meters, which have the figures of every {@code interval}-th iteration.
     *
     * @param tags pairs of key and value, such as {@code "network", "resnet50"}
     * @throws AmpException if the interval is less than 1, or the registry is null
     */
    public MicrometerListener(MeterRegistry registry, int interval, String... tags) {
        super(interval);
        AmpException.ifNull(registry, "registry", "a MeterRegistry");
        Tags all = Tags.of(tags);
        gauge(registry, "dl4jamp.loss", null, all, StepFigures::loss);
        gauge(registry, "dl4jamp.loss.scale", null, all, figures -> figures.lossScale()
                .orElse(Double.NaN));
        gauge(registry, "dl4jamp.iteration.time", "seconds", all, figures -> figures.secondsPerIteration()
                .orElse(Double.NaN));
        gauge(registry, "dl4jamp.examples.per.second", null, all, figures -> figures.examplesPerSecond()
                .orElse(Double.NaN));
        gauge(registry, "dl4jamp.memory", BaseUnits.BYTES, all, StepFigures::memoryBytes);
        counter(registry, "dl4jamp.steps.taken", all, StepFigures::stepsTaken);
        counter(registry, "dl4jamp.steps.skipped", all, StepFigures::stepsSkipped);
    }

    private void gauge(
            MeterRegistry registry, String name, String unit, Tags tags, ToDoubleFunction<StepFigures> figure) {
        Gauge.builder(name, () -> last == null ? Double.NaN : figure.applyAsDouble(last))
                .baseUnit(unit)
                .tags(tags)
                .register(registry);
    }

    private void counter(MeterRegistry registry, String name, Tags tags, ToDoubleFunction<StepFigures> figure) {
        FunctionCounter.builder(name, this, own -> own.last == null ? 0 : figure.applyAsDouble(own.last))
                .tags(tags)
                .register(registry);
    }

    @Override
    protected void report(StepFigures figures) {
        last = figures;
    }
}
