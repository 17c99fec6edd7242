package org.dl4jamp.inspect.compare;

import java.util.List;
import java.util.Optional;

/**
 * The conclusion of a comparison.
 *
 * @param kind the kind of conclusion
 * @param sentences the conclusion for people
 * @param weakest the weakest layer or vertex: where numbers differ first by more than the policy should make them, or
 *     else the one whose gradients differ most; empty if nothing differs
 * @param mending the policy that mends it, or that helps most; empty if none does, or nothing needs mending
 * @param trials all policies that were run for it
 */
public record Verdict(
        Kind kind, List<String> sentences, Optional<String> weakest, Optional<Trial> mending, List<Trial> trials) {
    /** The kinds of conclusion. */
    public enum Kind {
        /** No layer's error matters to training. */
        HEALTHY,
        /** Errors are large, and rounding the weights alone makes as large ones: another policy won't help. */
        ILL_CONDITIONED,
        /** Errors are large, and another policy mends them. */
        MENDED,
        /** Errors are large, and another policy makes them smaller. */
        HELPED,
        /** Errors are large, and none of the policies that were run helps. */
        NOT_MENDED,
        /** Nothing computes in half precision. */
        NO_HALF,
        /** Numbers aren't finite in stock DL4J in FP32. */
        NOT_FINITE_IN_FP32
    }
}
