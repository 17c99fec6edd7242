package org.dl4jamp.policy;

import java.util.List;
import java.util.Optional;

/**
 * Which layer of a network in inference mode runs in which precision, and which are computed at once.
 *
 * @param plan its rows' reasons tell of the groups
 * @param groups no layer or vertex is in two of them
 */
public record InferencePlan(PrecisionPlan plan, List<FusionGroup> groups) {
    public InferencePlan {
        groups = List.copyOf(groups);
    }

    /** The group that begins with a layer. */
    public Optional<FusionGroup> ledBy(String name) {
        return groups.stream().filter(group -> group.head().equals(name)).findFirst();
    }

    /** The group whose result a layer or vertex hands on. */
    public Optional<FusionGroup> followedBy(String name) {
        return groups.stream().filter(group -> group.followers().contains(name)).findFirst();
    }

    /** The same groups with a plan that tells of them. */
    InferencePlan explained() {
        List<PrecisionPlan.Row> rows = plan.rows().stream()
                .map(row -> ledBy(row.name())
                        .map(group -> row.withReason(row.reason() + leads(group)))
                        .or(() -> followedBy(row.name()).map(group -> row.withReason(follows(row.name(), group))))
                        .orElse(row))
                .toList();
        return new InferencePlan(new PrecisionPlan(plan.precision(), plan.note(), rows), groups);
    }

    private static String leads(FusionGroup group) {
        StringBuilder what = new StringBuilder();
        group.normalization().ifPresent(name -> what.append("; \"").append(name).append("\" folded into its weights"));
        group.sum()
                .ifPresent(sum ->
                        what.append("; the sum of \"").append(sum.vertex()).append("\" added"));
        group.function()
                .ifPresent(
                        name -> what.append("; the function of \"").append(name).append("\" applied"));
        return what.append(" in one pass").toString();
    }

    private static String follows(String name, FusionGroup group) {
        boolean folded = group.normalization().filter(name::equals).isPresent();
        return (folded ? "folded into \"" : "computed by \"") + group.head() + "\"";
    }
}
