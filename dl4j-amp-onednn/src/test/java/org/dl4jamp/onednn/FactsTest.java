package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.bytedeco.dnnl.global.dnnl;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;

class FactsTest {
    private static final Map<String, String> FACTS = new OneDnnEngine().facts();

    @Test
    void namesVersionInstructionSetAndBfloat16() {
        assertEquals(List.of("oneDNN", "instruction set", "BFLOAT16"), List.copyOf(FACTS.keySet()));
        assertTrue(FACTS.get("oneDNN").matches("3\\.\\d+\\.\\d+"), FACTS.toString());
    }

    @Test
    void theInstructionSetIsTheNameOfOneDnnsConstant() throws ReflectiveOperationException {
        String constant = "dnnl_cpu_isa_" + FACTS.get("instruction set").toLowerCase(Locale.ROOT);
        assertEquals(
                dnnl.dnnl_get_effective_cpu_isa(), dnnl.class.getField(constant).getInt(null));
    }

    @Test
    void bfloat16IsWhatTheEngineSaysOfThePrecision() {
        boolean none = new OneDnnEngine().cannot(Precision.BFLOAT16).isPresent();
        assertEquals(none, FACTS.get("BFLOAT16").equals("none"));
        boolean isNative = new OneDnnEngine().automaticPrecision() == Precision.BFLOAT16;
        assertEquals(isNative, FACTS.get("BFLOAT16").equals("native"));
    }
}
