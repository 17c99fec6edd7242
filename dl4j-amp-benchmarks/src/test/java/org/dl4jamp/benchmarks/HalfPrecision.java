package org.dl4jamp.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Locale;
import java.util.Optional;
import org.dl4jamp.benchmarks.process.Side;
import org.dl4jamp.engine.Engines;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;

/**
 * BFLOAT16 where oneDNN computes it on this CPU, natively or by way of FP32, else FP32: so the same tests run
 * everywhere. The log names the tested type once in a run.
 */
public final class HalfPrecision {
    private static final boolean HERE = here(cannot());

    private HalfPrecision() {}

    private static Optional<String> cannot() {
        try {
            Engines.choose("onednn", Precision.BFLOAT16);
            return Optional.empty();
        } catch (AmpException e) {
            return Optional.of(e.getMessage());
        }
    }

    private static boolean here(Optional<String> cannot) {
        System.getLogger(HalfPrecision.class.getName())
                .log(
                        System.Logger.Level.INFO,
                        "oneDNN takes this CPU for " + instructionSet() + ": "
                                + cannot.map(why -> "BFLOAT16 is not tested, its tests run in FP32, because " + why)
                                        .orElse("BFLOAT16 is tested"));
        return cannot.isEmpty();
    }

    private static String instructionSet() {
        try {
            return Machine.current().instructionSet().toUpperCase(Locale.ROOT);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns whether it's BFLOAT16. */
    public static boolean isHere() {
        return HERE;
    }

    /** Returns the precision to enable networks with. */
    public static Precision precision() {
        return HERE ? Precision.BFLOAT16 : Precision.FLOAT;
    }

    /** Returns its side. */
    static Side side() {
        return HERE ? Side.AMP_BF16 : Side.AMP_FP32;
    }
}
