package org.dl4jamp.policy;

import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.function.Function;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.Precision;

/**
 * The precision and engine of each layer and vertex of a network, with the reason. Immutable.
 *
 * @param precision the precision of the layers in lower precision: HALF or BFLOAT16, or FLOAT if there are none
 * @param note the reason for this precision, in a few words; may be empty
 * @param rows one row per layer or vertex, in topological order
 * @param fusions pairs that are computed in one pass in training
 */
public record PrecisionPlan(Precision precision, String note, List<Row> rows, List<Fusion> fusions) {
    /**
     * One layer or vertex.
     *
     * @param name the layer's or vertex's name
     * @param className simple name of its configuration class
     * @param layer whether it's a layer, and not another vertex
     * @param kind the kind that its class or a rule has
     * @param precision the precision that it computes in
     * @param input the precision of its input activations
     * @param output the precision of its output activations
     * @param engine the engine that computes it; {@code dl4j} where the layer is left as it is
     * @param reason the reason, in a few words
     */
    public record Row(
            String name,
            String className,
            boolean layer,
            LayerKind kind,
            Precision precision,
            Precision input,
            Precision output,
            String engine,
            String reason) {
        Row withReason(String other) {
            return on(engine, other);
        }

        Row on(String otherEngine, String otherReason) {
            return new Row(name, className, layer, kind, precision, input, output, otherEngine, otherReason);
        }
    }

    /**
     * A layer that is computed, in training, in one pass with the node before it.
     *
     * @param first name of the layer or vertex that comes first; its output is the result of both
     * @param then name of the layer
     */
    public record Fusion(String first, String then) {}

    public PrecisionPlan {
        AmpException.ifNull(precision, "precision", "HALF, BFLOAT16 or FLOAT");
        AmpException.ifNull(note, "note", "a few words, or none");
        rows = List.copyOf(AmpException.ifNull(rows, "rows", "a row for each layer and vertex"));
        fusions = List.copyOf(AmpException.ifNull(fusions, "fusions", "a list, empty if nothing is fused"));
    }

    /** A plan without fusions. */
    public PrecisionPlan(Precision precision, String note, List<Row> rows) {
        this(precision, note, rows, List.of());
    }

    /**
     * Returns the fusion that a layer or vertex takes part in, as the first or as the second; empty if there is none.
     */
    public Optional<Fusion> fusion(String name) {
        return fusions.stream()
                .filter(fusion -> fusion.first().equals(name) || fusion.then().equals(name))
                .findFirst();
    }

    /**
     * Returns the row of a layer or vertex.
     *
     * @throws NoSuchElementException if there is none of this name
     */
    public Row row(String name) {
        return rows.stream()
                .filter(row -> row.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new NoSuchElementException("no layer \"" + name + "\" in the plan"));
    }

    /**
     * Returns this plan with additions to the reasons of some rows.
     *
     * @param additions returns the addition of a layer or vertex, by its name; empty for none
     */
    public PrecisionPlan withReasons(Function<String, Optional<String>> additions) {
        List<Row> changed = rows.stream()
                .map(row -> additions
                        .apply(row.name)
                        .map(addition -> row.withReason(row.reason + "; " + addition))
                        .orElse(row))
                .toList();
        return changed.equals(rows) ? this : new PrecisionPlan(precision, note, changed, fusions);
    }

    /** Returns whether any layer computes in half precision. */
    public boolean anyHalf() {
        return rows.stream().anyMatch(row -> row.precision().isHalf());
    }

    /** Returns the plan as a table of one line per layer or vertex. */
    @Override
    public String toString() {
        List<List<String>> lines = new ArrayList<>();
        lines.add(List.of("layer", "class", "precision", "output", "engine", "reason"));
        for (Row row : rows) {
            lines.add(List.of(
                    row.name, row.className, row.precision.toString(), row.output.toString(), row.engine, row.reason));
        }
        StringBuilder format = new StringBuilder("\n");
        for (int column = 0; column < 5; column++) {
            int i = column;
            int width =
                    lines.stream().mapToInt(line -> line.get(i).length()).max().orElseThrow();
            format.append("%-" + (width + 2) + "s");
        }
        format.append("%s");
        StringBuilder table =
                new StringBuilder("Precision plan: " + precision + (note.isEmpty() ? "" : " (" + note + ")"));
        lines.forEach(line -> table.append(String.format(format.toString(), line.toArray())));
        long half = rows.stream().filter(row -> row.precision.isHalf()).count();
        return table.append("\n" + half + " of " + rows.size())
                .append(rows.stream().allMatch(Row::layer) ? " layers" : " layers and vertices")
                .append(" compute in " + (half == 0 ? "half precision" : precision))
                .toString();
    }
}
