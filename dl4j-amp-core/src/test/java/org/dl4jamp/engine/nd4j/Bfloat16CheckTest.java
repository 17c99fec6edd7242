package org.dl4jamp.engine.nd4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

class Bfloat16CheckTest {
    private static INDArray inFp32(INDArray array, Number number) {
        return array.castTo(DataType.FLOAT).mul(number).castTo(DataType.BFLOAT16);
    }

    @Test
    void agreesWithFp32() {
        assertEquals(
                true, Bfloat16Check.isRight(Bfloat16CheckTest::inFp32, (array, number) -> array.castTo(DataType.FLOAT)
                        .add(number)));
    }

    @Test
    void seesWholeNumbersInPlaceOfFractions() {
        assertFalse(Bfloat16Check.isRight(
                (array, number) -> inFp32(array, Math.round(number.doubleValue())), INDArray::add));
        assertFalse(Bfloat16Check.isRight(Bfloat16CheckTest::inFp32, (array, number) -> array.castTo(DataType.FLOAT)
                .add(number.intValue())));
    }

    @Test
    void seesWhatIsNoNumber() {
        assertFalse(Bfloat16Check.isRight((array, number) -> array.div(0), INDArray::add));
    }
}
