package org.dl4jamp.inspect.report;

import java.util.List;
import org.dl4jamp.policy.PrecisionPlan;

/** The plan: a row for each layer and vertex. */
record PlanRows(List<Row> rows) {
    /**
     * A layer or vertex.
     *
     * @param half whether it computes in half precision
     * @param numbers precision of its input and output, where they differ from its own or from one another
     * @param fused the layer that it's computed with; empty if there is none
     */
    record Row(
            String name,
            String className,
            String precision,
            boolean half,
            String numbers,
            String engine,
            String reason,
            String fused) {}

    static PlanRows of(PrecisionPlan plan) {
        return new PlanRows(plan.rows().stream()
                .map(row -> new Row(
                        row.name(),
                        row.className(),
                        row.precision().toString(),
                        row.precision().isHalf(),
                        row.input() + " → " + row.output(),
                        row.engine(),
                        row.reason(),
                        plan.fusion(row.name())
                                .map(fusion -> fusion.first().equals(row.name()) ? fusion.then() : fusion.first())
                                .orElse("")))
                .toList());
    }
}
