package org.dl4jamp.benchmarks.dl4j;

import org.dl4jamp.policy.PrecisionPlan;

/** The engine that is measured, and what AUTO stood for. */
final class EngineChoice {
    /** This project's CPU engine. */
    static final String MEASURED = "onednn";

    private EngineChoice() {}

    /** Returns precision and engine of a plan as text. */
    static String of(PrecisionPlan plan, String engine) {
        boolean left = plan.rows().stream().noneMatch(row -> row.engine().equals(engine));
        return plan.precision() + (left ? " as DL4J computes it" : " on engine " + engine);
    }
}
