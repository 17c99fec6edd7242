package org.dl4jamp.gradient;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** The place of the first infinity or NaN of a batch. */
class FiniteCheckTest {
    /** An array that counts how often one of its numbers is read by the host. */
    private static INDArray counting(INDArray array, AtomicInteger reads) {
        return (INDArray) Proxy.newProxyInstance(
                INDArray.class.getClassLoader(), new Class<?>[] {INDArray.class}, (proxy, method, arguments) -> {
                    if (method.getName().startsWith("getDouble")
                            || method.getName().startsWith("getFloat")) {
                        reads.incrementAndGet();
                    }
                    Object result = method.invoke(array, arguments);
                    return result instanceof INDArray other ? counting(other, reads) : result;
                });
    }

    @ParameterizedTest
    @EnumSource(
            value = DataType.class,
            names = {"FLOAT", "HALF", "BFLOAT16", "DOUBLE"})
    void isNamedWithItsPosition(DataType type) {
        INDArray array = Nd4j.ones(type, 3, 4, 5);
        assertEquals(Optional.empty(), NonFiniteSource.firstNonFinite(array));
        array.putScalar(new int[] {2, 1, 0}, Double.NEGATIVE_INFINITY);
        array.putScalar(new int[] {1, 3, 4}, Double.NaN);
        assertEquals(Optional.of("NaN at [1, 3, 4]"), NonFiniteSource.firstNonFinite(array));
        assertEquals(Optional.of("-Infinity at [0, 1, 2]"), NonFiniteSource.firstNonFinite(array.permute(2, 1, 0)));
    }

    @Test
    void finiteNumbersAreNotReadOneByOne() {
        AtomicInteger reads = new AtomicInteger();
        INDArray array = Nd4j.ones(DataType.FLOAT, 50, 20);
        assertTrue(NonFiniteSource.firstNonFinite(counting(array, reads)).isEmpty());
        array.putScalar(999, Double.NaN);
        assertEquals(Optional.of("NaN at [49, 19]"), NonFiniteSource.firstNonFinite(counting(array, reads)));
        assertTrue(reads.get() <= 1, () -> reads + " numbers were read by the host");
    }
}
