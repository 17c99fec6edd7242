package org.dl4jamp.config;

/**
 * The treatment of micro-batches at the end of an epoch that are too few for a step, see
 * {@link AmpConfig.Builder#accumulate(int, PartialGroup)}.
 */
public enum PartialGroup {
    /** They make a step, whose gradient is the mean over their own examples. */
    APPLY,
    /** They wait for the first ones of the next epoch. */
    CARRY_OVER
}
