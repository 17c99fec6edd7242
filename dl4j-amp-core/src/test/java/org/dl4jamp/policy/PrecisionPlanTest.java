package org.dl4jamp.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.NoSuchElementException;
import org.dl4jamp.precision.OptLevel;
import org.junit.jupiter.api.Test;

class PrecisionPlanTest {
    private static final NetworkGraph GRAPH =
            Plans.chain(Plans.dense("dense"), Plans.batchNorm("bn"), Plans.output("out"));

    @Test
    void printsAsATable() {
        assertEquals("""
                Precision plan: HALF (HALF was asked for)
                layer  class               precision  output  engine  reason
                dense  DenseLayer          HALF       HALF    test    products in FP32, rounded once
                bn     BatchNormalization  FLOAT      FLOAT   test    statistics and parameters in FP32, takes HALF
                out    OutputLayer         FLOAT      FLOAT   dl4j    loss in FP32
                1 of 3 layers compute in HALF""", Plans.plan(GRAPH).toString());
    }

    @Test
    void aPlanWithoutHalfSaysSo() {
        String table = Plans.plan(GRAPH, OptLevel.O0).toString();

        assertTrue(table.startsWith("Precision plan: FLOAT (opt level O0 is FP32 throughout)\n"), table);
        assertTrue(table.endsWith("0 of 3 layers compute in half precision"), table);
    }

    @Test
    void anUnknownLayerIsNamed() {
        PrecisionPlan plan = Plans.plan(GRAPH);

        assertEquals("bn", plan.row("bn").name());
        assertTrue(assertThrows(NoSuchElementException.class, () -> plan.row("x"))
                .getMessage()
                .contains("\"x\""));
    }
}
