package org.dl4jamp.inspect.machine;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.precision.Precision;

/**
 * An engine on the class path.
 *
 * @param name its name
 * @param unavailable why it can't be used; null if it can
 * @param facts what the engine says of itself, such as the version of its library, by a short name
 * @param computes the precisions that it computes, natively or not; empty if it's unavailable
 * @param cannot why it doesn't compute others, by precision
 */
public record EngineState(
        String name,
        String unavailable,
        Map<String, String> facts,
        List<Precision> computes,
        Map<Precision, String> cannot) {
    public EngineState {
        facts = Collections.unmodifiableMap(new LinkedHashMap<>(facts));
        computes = List.copyOf(computes);
        cannot = Collections.unmodifiableMap(new LinkedHashMap<>(cannot));
    }

    static EngineState of(ComputeEngine engine) {
        Optional<String> unavailable = engine.unavailable();
        if (unavailable.isPresent()) {
            return new EngineState(engine.name(), unavailable.get(), Map.of(), List.of(), Map.of());
        }
        List<Precision> computes = new ArrayList<>();
        Map<Precision, String> cannot = new LinkedHashMap<>();
        for (Precision precision : List.of(Precision.FLOAT, Precision.BFLOAT16, Precision.HALF)) {
            reason(engine, precision)
                    .ifPresentOrElse(reason -> cannot.put(precision, reason), () -> computes.add(precision));
        }
        return new EngineState(engine.name(), null, engine.facts(), computes, cannot);
    }

    private static Optional<String> reason(ComputeEngine engine, Precision precision) {
        return precision == Precision.FLOAT && !engine.computesFloat()
                ? Optional.of("it leaves FP32 to DL4J")
                : engine.cannot(precision);
    }
}
