package org.dl4jamp.engine.nd4j;

import java.lang.ref.Reference;
import java.lang.reflect.Field;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.memory.deallocation.DeallocatorService;
import org.nd4j.linalg.factory.Nd4j;

/** Counts arrays of floating-point numbers outside workspaces through ND4J's list of buffers to free. */
final class MemoryOutsideWorkspaces {
    private MemoryOutsideWorkspaces() {}

    /**
     * The most bytes that one of several runs allocates: what the garbage collector takes away meanwhile is missing.
     */
    static long bytesOf(Runnable step) throws ReflectiveOperationException {
        long most = 0;
        for (int i = 0; i < 3; i++) {
            Set<Object> before = new HashSet<>(buffers().keySet());
            step.run();
            long bytes = 0;
            for (Map.Entry<?, ?> entry : buffers().entrySet()) {
                if (!before.contains(entry.getKey())
                        && ((Reference<?>) entry.getValue()).get() instanceof DataBuffer buffer) {
                    boolean array = buffer.dataType().isFPType() && buffer.length() > 1;
                    boolean owner = buffer.underlyingDataBuffer() == null && !buffer.isAttached();
                    bytes += array && owner ? buffer.length() * buffer.getElementSize() : 0;
                }
            }
            most = Math.max(most, bytes);
        }
        return most;
    }

    private static Map<?, ?> buffers() throws ReflectiveOperationException {
        Field map = DeallocatorService.class.getDeclaredField("referenceMap");
        map.setAccessible(true);
        return (Map<?, ?>) map.get(Nd4j.getDeallocatorService());
    }
}
