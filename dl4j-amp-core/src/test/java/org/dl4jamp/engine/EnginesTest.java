package org.dl4jamp.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import org.dl4jamp.engine.nd4j.Nd4jEngine;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.factory.Nd4j;

/** The choice of engine and precision, with a broken engine and one that computes BFLOAT16 only on the class path. */
class EnginesTest {
    private static void assertRefused(String name, Precision precision, String... words) {
        AmpException refusal = assertThrows(AmpException.class, () -> Engines.choose(name, precision));
        for (String word : words) {
            assertTrue(refusal.getMessage().contains(word), () -> "\"" + word + "\" in: " + refusal.getMessage());
        }
    }

    @Test
    void theServiceLoaderFindsThePortableEngineAndItComesLast() {
        assertEquals(3, Engines.found().size());
        assertEquals("nd4j", Engines.found().get(2).name());
    }

    @Test
    void anEngineThatDoesntExistIsAnsweredWithThoseThatDoAndWhyTheyCantBeUsed() {
        assertRefused(
                "warp",
                Precision.HALF,
                "warp",
                "nd4j",
                "\"broken\" (unavailable: its native library is missing)",
                "auto");
    }

    @Test
    void anEngineThatCantBeUsedHereSaysWhy() {
        assertRefused("broken", Precision.AUTO, "broken", "its native library is missing", "nd4j");
    }

    @Test
    void aPrecisionThatTheEngineCantDoIsRefusedWithItsReason() {
        assertRefused("brain-only", Precision.HALF, "precision(HALF)", "brain-only", "it knows BFLOAT16 only");
    }

    @Test
    void leavingEverythingToDl4jIsFp32() {
        Engines.Choice choice = Engines.choose("dl4j", Precision.AUTO);
        assertEquals("dl4j", choice.engine().name());
        assertEquals(Precision.FLOAT, choice.precision());
        assertRefused("dl4j", Precision.HALF, "precision(HALF)", "\"dl4j\"", "FP32");
    }

    @Test
    void aPrecisionByNameFindsAnEngineThatCanDoIt() {
        Engines.Choice choice = Engines.choose("auto", Precision.HALF);
        assertEquals("nd4j", choice.engine().name());
        assertEquals(Precision.HALF, choice.precision());
    }

    @Test
    void whereNothingComputesHalfPrecisionFastAutoIsFp32OnTheEngineThatComputesItFasterThanDl4j() {
        assumeTrue(Nd4j.getBackend().getClass().getSimpleName().startsWith("Cpu"), "runs on ND4J's CPU backend");
        ComputeEngine quick = new FakeEngine.Quick();
        List<ComputeEngine> engines =
                List.of(new FakeEngine.BrainOnly(), new FakeEngine.Broken(), quick, new Nd4jEngine());
        for (String name : List.of("auto", "quick")) {
            assertEquals(
                    new Engines.Choice(quick, Precision.FLOAT, "quick computes nothing"),
                    Engines.choose(name, Precision.AUTO, engines));
        }
        assertEquals(
                "nd4j", Engines.choose("nd4j", Precision.AUTO, engines).engine().name());
        assertEquals(
                "nd4j",
                Engines.choose("auto", Precision.FLOAT, engines).engine().name(),
                "DL4J's own FP32");
    }

    @Test
    void onACpuWithoutAFastEngineAutoIsFp32AndSaysWhy() {
        assumeTrue(Nd4j.getBackend().getClass().getSimpleName().startsWith("Cpu"), "runs on ND4J's CPU backend");
        Engines.Choice choice = Engines.choose("auto", Precision.AUTO);
        assertEquals("nd4j", choice.engine().name());
        assertEquals(Precision.FLOAT, choice.precision());
        assertEquals(
                "brain-only computes nothing; engine \"broken\" is unavailable: its native library is missing",
                choice.reason());
        assertTrue(Engines.choose("nd4j", Precision.AUTO).reason().contains("dl4j-amp-onednn"));
    }
}
