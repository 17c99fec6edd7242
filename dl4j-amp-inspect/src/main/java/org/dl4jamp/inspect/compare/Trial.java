package org.dl4jamp.inspect.compare;

import java.util.Optional;

/**
 * Another policy that the batches were run with.
 *
 * @param line the settings, as a program writes them
 * @param refused the reason for which it wasn't run; empty if it was run
 * @param mends whether no layer is weak with it, apart from what rounding the weights alone explains
 * @param layer the error of the weakest layer with it; NaN if it was refused
 * @param gradients the error of all gradients with it; NaN if it was refused
 * @param half how many layers and vertices compute in half precision with it
 */
public record Trial(String line, Optional<String> refused, boolean mends, double layer, double gradients, long half) {
    static Trial refused(String line, String reason) {
        return new Trial(line, Optional.of(reason), false, Double.NaN, Double.NaN, 0);
    }

    boolean ran() {
        return refused.isEmpty();
    }
}
