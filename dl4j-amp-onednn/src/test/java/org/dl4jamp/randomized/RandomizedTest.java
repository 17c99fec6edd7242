package org.dl4jamp.randomized;

import net.jqwik.api.Example;

/**
 * Random networks and calls in FP32 on each engine against stock DL4J, equal to 1e-4 at every number that a program can
 * read.
 */
class RandomizedTest {
    @Example
    void mixedPrecisionInFp32DoesWhatStockDl4jDoes() {
        new RandomizedRun(Playing.CALLS, DifferentialCheck.ENGINES, 180, 60).assertNoDifference();
    }
}
