package org.dl4jamp.policy;

import java.util.List;
import java.util.NoSuchElementException;
import org.dl4jamp.Precision;

/**
 * Which layer and vertex of a network runs in which precision, on which engine, and why. Immutable.
 *
 * @param precision the precision of the layers in lower precision: HALF or BFLOAT16, or FLOAT if there are none
 * @param rows one row per layer or vertex, in topological order
 */
public record PrecisionPlan(Precision precision, List<Row> rows) {
    /**
     * One layer or vertex.
     *
     * @param name the layer's or vertex's name
     * @param className simple name of its configuration class
     * @param kind what its class, or a rule, asked for
     * @param precision what it computes in
     * @param input the precision of the activations that it is given
     * @param output the precision of the activations that it hands on
     * @param engine the engine that computes it; {@code dl4j} where the layer is left as it is
     * @param reason why, in a few words
     */
    public record Row(
            String name,
            String className,
            LayerKind kind,
            Precision precision,
            Precision input,
            Precision output,
            String engine,
            String reason) {}

    public PrecisionPlan {
        rows = List.copyOf(rows);
    }

    /**
     * The row of a layer or vertex.
     *
     * @throws NoSuchElementException if there is none of this name
     */
    public Row row(String name) {
        return rows.stream()
                .filter(row -> row.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new NoSuchElementException("no layer \"" + name + "\" in the plan"));
    }

    /** Whether any layer computes in half precision. */
    public boolean anyHalf() {
        return rows.stream().anyMatch(row -> row.precision().isHalf());
    }

    /** The plan as a table of one line per layer or vertex. */
    @Override
    public String toString() {
        return PlanTable.of(this);
    }
}
