package org.dl4jamp.policy;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The precision of each layer of a network in inference mode, and the groups that are computed at once.
 *
 * @param plan its rows' reasons name the groups
 * @param groups no layer or vertex is in two of them
 * @param places of layers in no group, the index of the buffer for the result, see {@link FusionGroup#place}
 */
public record InferencePlan(PrecisionPlan plan, List<FusionGroup> groups, Map<String, Integer> places) {
    public InferencePlan {
        groups = List.copyOf(groups);
        places = Map.copyOf(places);
    }

    /** Returns the group that begins with a layer. */
    public Optional<FusionGroup> ledBy(String name) {
        return groups.stream().filter(group -> group.head().equals(name)).findFirst();
    }

    /** Returns the group whose result a layer or vertex passes through. */
    public Optional<FusionGroup> followedBy(String name) {
        return groups.stream().filter(group -> group.followers().contains(name)).findFirst();
    }

    /** Returns the same groups with a plan that names them. */
    InferencePlan explained() {
        List<PrecisionPlan.Row> rows = plan.rows().stream()
                .map(row -> ledBy(row.name())
                        .map(group -> row.withReason(row.reason() + leads(group)))
                        .or(() -> followedBy(row.name()).map(group -> row.withReason(follows(row.name(), group))))
                        .orElse(row))
                .toList();
        return new InferencePlan(new PrecisionPlan(plan.precision(), plan.note(), rows), groups, places);
    }

    private static String leads(FusionGroup group) {
        return remark(group.normalization(), "", " folded into its weights")
                + remark(group.sum().map(FusionGroup.Sum::vertex), "the sum of ", " added")
                + remark(group.function(), "the function of ", " applied")
                + " in one pass";
    }

    private static String remark(Optional<String> member, String before, String after) {
        return member.map(name -> "; " + before + "\"" + name + "\"" + after).orElse("");
    }

    private static String follows(String name, FusionGroup group) {
        boolean folded = group.normalization().filter(name::equals).isPresent();
        return (folded ? "folded into \"" : "computed by \"") + group.head() + "\"";
    }
}
