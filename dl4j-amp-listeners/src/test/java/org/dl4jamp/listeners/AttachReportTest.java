package org.dl4jamp.listeners;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;

/** What is said where no layer computes in half precision: nothing of mixed precision. */
class AttachReportTest {
    private static PrecisionPlan.Row row(String name, String engine) {
        return new PrecisionPlan.Row(
                name,
                "DenseLayer",
                true,
                LayerKind.FULL,
                Precision.FLOAT,
                Precision.FLOAT,
                Precision.FLOAT,
                engine,
                "");
    }

    private static PrecisionPlan plan(PrecisionPlan.Row... rows) {
        return new PrecisionPlan(Precision.FLOAT, "", List.of(rows));
    }

    @Test
    void fp32OnAnEngineNamesTheEngineAndHowMuchItComputes() {
        PrecisionPlan plan = plan(row("a", "quick"), row("b", "dl4j"), row("c", "quick"));
        assertEquals(
                "The network trains in FP32 on engine \"quick\", which computes 2 of 3 layers; the plan says why",
                AttachReport.inFloat(plan, "quick", "3 layers"));
    }

    @Test
    void fp32OfDl4jIsWhatItIsWithoutUs() {
        assertEquals(
                "The network trains in FP32, as without dl4j-amp; the plan says why",
                AttachReport.inFloat(plan(row("a", "dl4j")), "nd4j", "1 layers"));
    }
}
