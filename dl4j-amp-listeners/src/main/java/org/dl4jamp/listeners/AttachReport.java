package org.dl4jamp.listeners;

import org.dl4jamp.MixedPrecision;
import org.dl4jamp.policy.PrecisionPlan;

/** The log line of {@link AmpListener} when it attaches. */
final class AttachReport {
    private AttachReport() {}

    /**
     * Returns the line.
     *
     * @param graph whether the network has vertices besides its layers
     * @param already whether it was enabled before
     */
    static String of(MixedPrecision amp, boolean graph, boolean already) {
        PrecisionPlan plan = amp.plan();
        String parts = plan.rows().size() + (graph ? " layers and vertices" : " layers");
        return plan.anyHalf()
                ? String.format(
                        "Mixed precision is on%s: %d of %s compute in %s on engine \"%s\", the others in FLOAT; loss"
                                + " scale %s",
                        already ? " already" : "",
                        plan.rows().stream()
                                .filter(row -> row.precision().isHalf())
                                .count(),
                        parts,
                        plan.precision(),
                        amp.engine(),
                        amp.lossScale())
                : inFloat(plan, amp.engine(), parts);
    }

    /** Returns the line for a network without layers in half precision. */
    static String inFloat(PrecisionPlan plan, String engine, String parts) {
        long computed =
                plan.rows().stream().filter(row -> row.engine().equals(engine)).count();
        String where = computed == 0
                ? ", as without dl4j-amp"
                : String.format(" on engine \"%s\", which computes %d of %s", engine, computed, parts);
        return "The network trains in FP32" + where + "; the plan says why";
    }
}
