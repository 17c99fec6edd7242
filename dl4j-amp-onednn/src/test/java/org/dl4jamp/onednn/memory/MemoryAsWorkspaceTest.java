package org.dl4jamp.onednn.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.bytedeco.javacpp.FloatPointer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class MemoryAsWorkspaceTest {
    private static final String NAME = "A_NAME";

    @Test
    void dl4jLeavesAnArrayInItWhereItIs() {
        try (FloatPointer memory = new FloatPointer(1, 2, 3, 4, 5, 6)) {
            MemoryAsWorkspace workspace = new MemoryAsWorkspace(NAME, () -> memory);
            INDArray array = Nd4j.create(
                    Nd4j.getDataBufferFactory().create(DataType.FLOAT, 6, false, workspace),
                    new long[] {2, 3},
                    new long[] {3, 1},
                    0,
                    'c',
                    DataType.FLOAT);
            assertTrue(array.isAttached());
            assertSame(workspace, array.data().getParentWorkspace());
            assertEquals(memory.address(), array.data().pointer().address());
            assertArrayEquals(new float[] {4, 5, 6}, array.getRow(1).toFloatVector());
            LayerWorkspaceMgr workspaceMgr = LayerWorkspaceMgr.builder()
                    .with(
                            ArrayType.ACTIVATION_GRAD,
                            "OTHER",
                            WorkspaceConfiguration.builder().build())
                    .build();
            try (var scope = workspaceMgr.notifyScopeEntered(ArrayType.ACTIVATION_GRAD)) {
                assertNotSame(array, workspaceMgr.leverageTo(ArrayType.ACTIVATION_GRAD, array));
                workspaceMgr.setNoLeverageOverride(NAME);
                assertSame(array, workspaceMgr.leverageTo(ArrayType.ACTIVATION_GRAD, array));
            }
        }
    }
}
