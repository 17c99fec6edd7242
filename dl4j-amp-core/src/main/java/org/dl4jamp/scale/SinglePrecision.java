package org.dl4jamp.scale;

import org.dl4jamp.precision.AmpException;

/**
 * Decides which numbers can be loss scales. Gradients are multiplied in single precision by the scale and by its
 * reciprocal, which would be infinite below the smallest normal float.
 */
final class SinglePrecision {
    private SinglePrecision() {}

    /**
     * Returns the scale as a float. Throws an {@link AmpException} with the name of the called method and, after the
     * range, advice which one to take, if it can't be one.
     */
    static float scale(String call, double scale, String advice) {
        float rounded = (float) scale;
        if (!(rounded >= Float.MIN_NORMAL && rounded <= Float.MAX_VALUE)) {
            throw new AmpException(call + "(" + scale + "): a scale from " + Float.MIN_NORMAL + " to " + Float.MAX_VALUE
                    + " is needed" + advice);
        }
        return rounded;
    }
}
