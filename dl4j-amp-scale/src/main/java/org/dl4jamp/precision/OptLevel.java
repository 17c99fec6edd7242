package org.dl4jamp.precision;

/** Presets of precision policy, loss scaling and master weights, with the meaning that NVIDIA's Apex gave them. */
public enum OptLevel {
    /** FP32 training: no layer in half precision, no loss scaling. The baseline for comparisons. */
    O0,
    /**
     * The default, and what PyTorch's autocast does: layers that gain from half precision compute in it, layers that
     * need FP32 keep it, and the others follow their input. Dynamic loss scaling in HALF.
     */
    O1,
    /** Everything in half precision except batch normalization and losses. Dynamic loss scaling in HALF. */
    O2,
    /**
     * Pure half precision, as an upper bound for speed. Batch normalization and output layers take half parameters,
     * too. The parameters are rounded to half precision after each step (no master weights), and the loss is not
     * scaled. Expect it not to converge on hard problems.
     */
    O3
}
