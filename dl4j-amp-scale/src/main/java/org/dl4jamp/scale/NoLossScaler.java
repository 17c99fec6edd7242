package org.dl4jamp.scale;

import org.dl4jamp.precision.AmpException;

/**
 * No loss scaling: the scale is one and stays one. The counterpart of PyTorch's {@code GradScaler(enabled=False)}, and
 * right for BFLOAT16, which has the range of FP32.
 */
public final class NoLossScaler implements LossScaler {
    /** {@link LossScalerState#kind()} of this scaler. */
    public static final String KIND = "none";

    private static final LossScalerState STATE = new LossScalerState(KIND, 1.0, 0, 0);

    /** Always one. */
    @Override
    public double scale() {
        return 1.0;
    }

    /** Changes nothing. */
    @Override
    public void update(boolean overflow) {}

    @Override
    public LossScalerState state() {
        return STATE;
    }

    @Override
    public void restore(LossScalerState state) {
        if (!STATE.equals(state)) {
            throw new AmpException("restore(" + state + "): new NoLossScaler() can only have " + STATE
                    + "; use the kind of scaler that the state was saved from");
        }
    }

    @Override
    public LossScaler copy() {
        return new NoLossScaler();
    }

    /** Returns the call that makes it. */
    @Override
    public String toString() {
        return "new NoLossScaler()";
    }
}
