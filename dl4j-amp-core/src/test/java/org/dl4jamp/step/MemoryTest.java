package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

class MemoryTest {
    @Test
    void tellsTheSameMemoryFromOther() {
        INDArray array = Nd4j.zeros(DataType.FLOAT, 10);
        INDArray first = array.get(NDArrayIndex.interval(0, 5));
        INDArray second = array.get(NDArrayIndex.interval(5, 10));
        assertTrue(AmpUpdate.isSameMemory(array, array.reshape(1, 10)));
        assertTrue(AmpUpdate.isSameMemory(second, array.get(NDArrayIndex.interval(5, 10))));
        assertFalse(AmpUpdate.isSameMemory(array, first));
        assertFalse(AmpUpdate.isSameMemory(first, second));
        assertFalse(AmpUpdate.isSameMemory(array, array.dup()));
    }

    /** ND4J's buffers on CUDA have no address on the host until they are read there. */
    @Test
    void asksForNoMirrorOnTheHost() {
        assertTrue(AmpUpdate.isSameMemory(onGpu(4096), onGpu(4096)));
        assertFalse(AmpUpdate.isSameMemory(onGpu(4096), onGpu(8192)));
    }

    private static INDArray onGpu(long address) {
        DataBuffer buffer = answering(DataBuffer.class, Map.of("platformAddress", address));
        return answering(INDArray.class, Map.of("data", buffer, "offset", 0L, "length", 10L));
    }

    /**
     * Returns what answers some methods, and fails in all others as a buffer without mirror does in {@code address()}.
     */
    private static <T> T answering(Class<T> type, Map<String, Object> answers) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, args) -> {
            Object answer = answers.get(method.getName());
            if (answer == null) {
                throw new NullPointerException(method + ": there is no host pointer");
            }
            return answer;
        }));
    }
}
