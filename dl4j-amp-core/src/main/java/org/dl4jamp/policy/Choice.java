package org.dl4jamp.policy;

import java.util.Optional;
import org.dl4jamp.precision.LayerFamily;
import org.dl4jamp.precision.LayerKind;

/**
 * The precision requested for one node and the one chosen, before activations are considered.
 *
 * @param node the node
 * @param kind the kind that its class or a rule has
 * @param role what it does: LOWER computes in half precision, FULL in FP32, FOLLOW in the precision of its input
 * @param reason the reason, in a few words
 * @param byRule whether a rule set the role
 */
record Choice(NetworkGraph.Node node, LayerKind kind, LayerKind role, String reason, boolean byRule) {
    /** Returns the choice for a layer whose neighbours compute in FP32. */
    Choice keptFull() {
        String why = "alone among FP32 layers: the casts would cost more than it saves";
        return new Choice(node, kind, LayerKind.FULL, why, byRule);
    }

    /** Returns whether its output has the type of its inputs. The layer that ends the network may cast its output. */
    boolean preservesType() {
        return role == LayerKind.FOLLOW && !(node.isLayer() && node.networkOutput());
    }

    /** Returns the reason for which its inputs must be FP32, whatever it computes in. */
    Optional<String> needsFloatInputs() {
        if (!node.isLayer()) {
            return role == LayerKind.FULL && !node.networkInput()
                    ? Optional.of("\"" + node.name() + "\" takes FP32 only")
                    : Optional.empty();
        }
        if (LayerKinds.family(node.layer()) == LayerFamily.LOOKUP) {
            return Optional.of("\"" + node.name() + "\" takes indices, which half precision would round");
        }
        if (LayerKinds.masksByValue(node.layer())) {
            return Optional.of("\"" + node.name()
                    + "\" counts features that equal its masking value, which half precision would round");
        }
        return PreProcessors.needsFloat(node.preProcessor());
    }

    /** Returns the reason for which its output must be FP32. */
    Optional<String> needsFloatOutput() {
        if (node.networkInput()) {
            return Optional.of("network inputs are FP32");
        }
        if (node.networkOutput()) {
            return Optional.of("network outputs are FP32");
        }
        return node.isLayer() || role == LayerKind.FOLLOW
                ? Optional.empty()
                : Optional.of("\"" + node.name() + "\" computes in FP32 only");
    }
}
