package org.dl4jamp.onednn.memory;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.workspace.ND4JWorkspaceException;

class LentGradientsTest {
    private static final Layout SMALL = Layout.channelsLast(DataType.FLOAT, 2, 3, 4, 5);
    private static final Layout LARGE = Layout.channelsLast(DataType.FLOAT, 2, 16, 8, 8);

    private final LentGradients gradients = new LentGradients();
    private final Object one = new Object();
    private final Object other = new Object();

    @AfterEach
    void close() {
        gradients.close();
    }

    @Test
    void holdNumbersInChannelsLastOrderFromACacheLineOn() {
        for (DataType type : new DataType[] {DataType.FLOAT, DataType.BFLOAT16}) {
            INDArray numbers = gaussian(new Random(1), 1, 2, 3, 4, 5).castTo(type);
            INDArray lent = gradients.lend(one, SMALL.as(type));
            assertTrue(SMALL.as(type).isThatOf(lent));
            assertEquals(0, Workspaces.address(lent) % 64);
            lent.assign(numbers);
            assertEquals(numbers, lent);
            gradients.giveBack(lent);
        }
    }

    @Test
    void areReusedOnceTheyAreGivenBack() {
        INDArray first = gradients.lend(one, LARGE);
        assertNotEquals(Workspaces.address(first), Workspaces.address(gradients.lend(other, LARGE)));
        gradients.giveBack(first);
        assertFalse(gradients.contain(first));
        assertEquals(Workspaces.address(first), Workspaces.address(gradients.lend(new Object(), SMALL)));
    }

    @Test
    void areGivenBackAsAnyViewOfTheWhole() {
        INDArray first = gradients.lend(one, SMALL);
        INDArray view = first.permute(0, 2, 3, 1);
        assertTrue(gradients.contain(view));
        gradients.giveBack(view);
        assertFalse(gradients.contain(first));
    }

    @Test
    void stayLentWhenSomethingElseIsGivenBack() {
        INDArray lent = gradients.lend(one, SMALL);
        gradients.giveBack(gaussian(new Random(1), 1, 2, 3, 4, 5));
        gradients.giveBack(lent.slice(0));
        assertTrue(gradients.contain(lent));
    }

    @Test
    void areTheLendersAgainWhenTheyWereNeverGivenBack() {
        INDArray first = gradients.lend(one, SMALL);
        assertSame(first, gradients.lend(one, SMALL));
    }

    @Test
    void growInPlaceOfWhatIsFree() {
        long before = AlignedMemory.held();
        long last = 0;
        for (int channels = 1; channels <= 64; channels++) {
            Layout layout = Layout.channelsLast(DataType.FLOAT, 1, channels, 64, 64);
            gradients.giveBack(gradients.lend(one, layout));
            last = layout.length() * Float.BYTES;
        }
        long grown = AlignedMemory.held() - before;
        assertTrue(grown >= last && grown < 2 * last, grown + " bytes for " + last);
        gradients.close();
        assertEquals(before, AlignedMemory.held());
    }

    @Test
    void dl4jLeavesThemWhereTheyAreOnceOneIsHandedBack() {
        WorkspaceConfiguration configuration =
                WorkspaceConfiguration.builder().initialSize(10_000).build();
        LayerWorkspaceMgr workspaceMgr = LayerWorkspaceMgr.builder()
                .with(ArrayType.ACTIVATION_GRAD, "WS_OF_A_TEST", configuration)
                .build();
        INDArray lent = gradients.lend(one, SMALL);
        try (MemoryWorkspace open = workspaceMgr.notifyScopeEntered(ArrayType.ACTIVATION_GRAD)) {
            assertThrows(
                    ND4JWorkspaceException.class,
                    () -> workspaceMgr.validateArrayLocation(ArrayType.ACTIVATION_GRAD, lent, false, true));
            assertSame(lent, gradients.leverage(lent, workspaceMgr));
            assertSame(lent, workspaceMgr.validateArrayLocation(ArrayType.ACTIVATION_GRAD, lent, false, true));
            assertSame(lent, workspaceMgr.leverageTo(ArrayType.ACTIVATION_GRAD, lent));
        }
    }

    @Test
    void otherGradientsMoveToWhereDl4jWantsThem() {
        LayerWorkspaceMgr workspaceMgr = workspaces("WS_OF_A_TEST", "WS_OF_ANOTHER_LAYER");
        try (MemoryWorkspace open = workspaceMgr.notifyScopeEntered(ArrayType.ACTIVATION_GRAD);
                MemoryWorkspace working = workspaceMgr.notifyScopeEntered(ArrayType.BP_WORKING_MEM)) {
            INDArray own = workspaceMgr.create(ArrayType.BP_WORKING_MEM, DataType.FLOAT, 2, 3);
            INDArray moved = gradients.leverage(own, workspaceMgr);
            assertEquals("WS_OF_A_TEST", moved.data().getParentWorkspace().getId());
            assertEquals(own, moved);
        }
    }

    @Test
    void anInputsGradientIsLentOnlyIfItsLenderWasToldAndDl4jWouldCloseItsWorkspace() {
        LentGradients.OfInput told = gradients.ofInput();
        told.lend();
        LayerWorkspaceMgr separate = workspaces("WS_OF_A_TEST", "WS_OF_ANOTHER_LAYER");
        try (MemoryWorkspace open = separate.notifyScopeEntered(ArrayType.ACTIVATION_GRAD)) {
            assertTrue(gradients.contain(told.create(separate, DataType.FLOAT, 2, 3, 4, 5)));
            assertFalse(gradients.contain(gradients.ofInput().create(separate, DataType.FLOAT, 2, 3, 4, 5)));
        }
        LayerWorkspaceMgr beforeACast = workspaces("WS_OF_A_TEST", "WS_OF_A_TEST");
        try (MemoryWorkspace open = beforeACast.notifyScopeEntered(ArrayType.ACTIVATION_GRAD)) {
            assertFalse(gradients.contain(told.create(beforeACast, DataType.FLOAT, 2, 3, 4, 5)));
        }
        assertFalse(gradients.contain(told.create(LayerWorkspaceMgr.noWorkspaces(), DataType.FLOAT, 2, 3, 4, 5)));
    }

    private static LayerWorkspaceMgr workspaces(String gradients, String working) {
        WorkspaceConfiguration configuration =
                WorkspaceConfiguration.builder().initialSize(10_000).build();
        return LayerWorkspaceMgr.builder()
                .with(ArrayType.ACTIVATION_GRAD, gradients, configuration)
                .with(ArrayType.BP_WORKING_MEM, working, configuration)
                .build();
    }
}
