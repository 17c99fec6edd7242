package org.dl4jamp.randomized;

import java.util.EnumSet;
import java.util.List;

/** Known defects: scenarios with these aren't drawn. The fix of a defect removes its line. */
final class KnownDifferences {
    /** Random numbers of dropout are drawn at other positions where stock DL4J's array has another order in memory. */
    private static final EnumSet<Option> OPTIONS = EnumSet.of(Option.DROPOUT);

    private KnownDifferences() {}

    /** Returns the options that can be compared. */
    static List<Option> comparable() {
        return List.copyOf(EnumSet.complementOf(OPTIONS));
    }
}
