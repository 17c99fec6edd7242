package org.dl4jamp.policy;

import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.precision.LayerFamily;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.OptLevel;

/** The policy of an opt level for layers without a rule. */
final class LevelPolicy {
    private LevelPolicy() {}

    static LayerKinds.Verdict verdict(OptLevel level, Layer layer) {
        return switch (level) {
            case O0 -> new LayerKinds.Verdict(LayerKind.FULL, "opt level O0 is FP32 throughout");
            case O1 -> LayerKinds.verdict(layer);
            case O2, O3 -> almostEverything(level, layer);
        };
    }

    // Layers that would be wrong in half precision, not just less precise, and unknown ones stay FP32 at every level.
    private static LayerKinds.Verdict almostEverything(OptLevel level, Layer layer) {
        Optional<LayerKinds.Verdict> overflow = LayerKinds.overflow(layer);
        LayerFamily family = LayerKinds.family(layer);
        return switch (family) {
            case UNKNOWN, WRAPPER, FIXED_TYPE, LOSS, PRETRAINED -> LayerKinds.verdict(layer);
            case OUTPUT, BATCH_NORM -> level == OptLevel.O2 ? LayerKinds.verdict(layer) : lower(level);
            case PRODUCTS, LOOKUP -> overflow.orElseGet(() -> lower(level));
            case STATISTICS, POOLING, ELEMENT_WISE, SHAPE ->
                overflow.orElseGet(
                        () -> new LayerKinds.Verdict(LayerKind.FOLLOW, "follows its input (opt level " + level + ")"));
        };
    }

    private static LayerKinds.Verdict lower(OptLevel level) {
        return new LayerKinds.Verdict(LayerKind.LOWER, "opt level " + level);
    }
}
