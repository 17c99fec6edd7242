package org.dl4jamp.onednn.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.exception.ND4JIllegalStateException;
import org.nd4j.linalg.factory.Nd4j;

class ActivationMemoryTest {
    private static final WorkspaceConfiguration PLAIN = new WorkspaceConfiguration();

    /** As DL4J's networks of layers in a row have it. */
    private static LayerWorkspaceMgr manager() {
        return LayerWorkspaceMgr.builder()
                .with(ArrayType.ACTIVATIONS, "WS_LAYER_ACT_1", PLAIN)
                .with(ArrayType.INPUT, "WS_LAYER_ACT_2", PLAIN)
                .with(ArrayType.FF_WORKING_MEM, "WS_LAYER_WORKING_MEM", PLAIN)
                .build();
    }

    private static INDArray counted(INDArray array) {
        return array.assign(Nd4j.arange((double) array.length()).reshape(array.shape()));
    }

    private final ActivationMemory memory = new ActivationMemory();

    @Test
    void anArrayInAPlaceIsTheSameInEachPassAndSoIsItsReshapedView() {
        Layout layout = Layout.dense(DataType.FLOAT, 2, 3, 2, 2);
        INDArray array = counted(memory.array(0, layout, manager()));
        assertSame(array, memory.array(0, layout, manager()));
        INDArray rows = array.reshape('c', new long[] {2, 12});
        assertArrayEquals(new long[] {2, 12}, rows.shape());
        assertEquals(Workspaces.address(array), Workspaces.address(rows));
        assertEquals(Nd4j.arange(24).reshape(2, 12), rows);
        assertEquals("WS_LAYER_ACT_1", rows.data().getParentWorkspace().getId());
        assertSame(rows, array.reshape('c', new long[] {2, 12}));
        assertSame(rows, rows.leverageTo("WS_LAYER_ACT_2", true));
        assertEquals(Nd4j.arange(24).reshape(24), array.reshape('c', new long[] {24}));
        assertEquals(rows, array.reshape('c', new long[] {2, 12}));
    }

    @Test
    void otherShapesAreReshapedAsNd4jDoes() {
        INDArray array = counted(memory.array(0, Layout.dense(DataType.FLOAT, 2, 3, 2, 2), manager()));
        INDArray model = Nd4j.arange(24).reshape(2, 3, 2, 2);
        assertEquals(model.reshape('c', new long[] {4, -1}), array.reshape('c', new long[] {4, -1}));
        assertEquals(model.reshape('f', new long[] {2, 12}), array.reshape('f', new long[] {2, 12}));
        assertThrows(ND4JIllegalStateException.class, () -> array.reshape('c', new long[] {5, 5}));
        INDArray last = counted(memory.array(0, Layout.channelsLast(DataType.FLOAT, 2, 3, 2, 2), manager()));
        assertEquals(model.reshape('c', new long[] {2, 12}), last.reshape('c', new long[] {2, 12}));
        assertNotSame(last.reshape('c', new long[] {2, 12}), last.reshape('c', new long[] {2, 12}));
    }

    @Test
    void aResultThatDl4jReadsIsCopiedToItsPlace() {
        ResultPlace place = new ResultPlace(memory, 1, true);
        INDArray result = place.channelsLast(DataType.FLOAT, manager(), 2, 3, 2, 2);
        assertTrue(memory.isPassing(result));
        INDArray copy = place.dense(DataType.FLOAT, manager(), 2, 3, 2, 2);
        assertFalse(memory.isPassing(copy));
        assertNotEquals(Workspaces.address(result), Workspaces.address(copy));
        INDArray ordered = place.channelsLast(DataType.FLOAT, manager(), 2, 3);
        assertFalse(memory.isPassing(ordered), "in the order that DL4J reads");
        INDArray pixel = place.channelsLast(DataType.FLOAT, manager(), 2, 3, 1, 1);
        assertFalse(memory.isPassing(pixel), "in the order that DL4J reads");
        INDArray own = new ResultPlace(memory, 1, false).channelsLast(DataType.FLOAT, manager(), 2, 3, 2, 2);
        assertFalse(memory.isPassing(own));
        assertEquals(Workspaces.address(copy), Workspaces.address(own));
    }
}
