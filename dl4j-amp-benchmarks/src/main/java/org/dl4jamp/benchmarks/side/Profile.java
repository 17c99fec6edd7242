package org.dl4jamp.benchmarks.side;

import java.util.List;

/**
 * The time of a step by its parts.
 *
 * @param secondsPerStep mean time of a step, with the time outside of the parts
 * @param parts the recorded parts, the most expensive first
 */
public record Profile(double secondsPerStep, List<Part> parts) {
    /**
     * A part of a step.
     *
     * @param kind such as primitive or updater
     * @param what which one of its kind
     * @param secondsPerStep its time
     * @param timesPerStep how often it ran
     */
    public record Part(String kind, String what, double secondsPerStep, double timesPerStep) {}

    public Profile {
        parts = List.copyOf(parts);
    }

    /** Returns these parts beside the time of a step that was measured without recording them. */
    public Profile of(double seconds) {
        return new Profile(seconds, parts);
    }

    /** Returns the time per step of all parts of a kind. */
    public double secondsOf(String kind) {
        return parts.stream()
                .filter(part -> part.kind().equals(kind))
                .mapToDouble(Part::secondsPerStep)
                .sum();
    }
}
