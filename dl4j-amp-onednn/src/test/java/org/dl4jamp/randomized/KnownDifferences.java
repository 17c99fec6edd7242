package org.dl4jamp.randomized;

/**
 * Known defects that are being mended: what has them isn't compared. Each is a method, which goes when its defect does.
 */
final class KnownDifferences {
    private KnownDifferences() {}

    static boolean has(Scenario scenario) {
        return randomNumbersOfDropout(scenario);
    }

    /** Drawn at other positions where stock DL4J's array has another order in memory. */
    private static boolean randomNumbersOfDropout(Scenario scenario) {
        return scenario.has(Option.DROPOUT);
    }
}
