package org.dl4jamp.onednn.memory;

import java.util.function.Supplier;
import org.bytedeco.javacpp.Pointer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.abstracts.DummyWorkspace;
import org.nd4j.linalg.api.memory.enums.MemoryKind;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;

/**
 * A workspace over memory of another owner: arrays in it are attached to it. DL4J, which checks in which workspace a
 * layer's arrays are, leaves an array where it is if it's given the workspace's name. Each array takes the memory from
 * its beginning. ND4J's class for having no workspace does the rest.
 */
final class MemoryAsWorkspace extends DummyWorkspace {
    private final String name;
    private final Supplier<? extends Pointer> memory;

    /**
     * @param name for {@code LayerWorkspaceMgr.setNoLeverageOverride}
     * @param memory on the host, large enough for each array
     */
    MemoryAsWorkspace(String name, Supplier<? extends Pointer> memory) {
        this.name = name;
        this.memory = memory;
    }

    @Override
    public String getId() {
        return name;
    }

    @Override
    public boolean isScopeActive() {
        return true;
    }

    @Override
    public PagedPointer alloc(long requiredMemory, DataType type, boolean initialize) {
        return new PagedPointer(memory.get(), requiredMemory / type.width());
    }

    @Override
    public PagedPointer alloc(long requiredMemory, MemoryKind kind, DataType type, boolean initialize) {
        return alloc(requiredMemory, type, initialize);
    }
}
