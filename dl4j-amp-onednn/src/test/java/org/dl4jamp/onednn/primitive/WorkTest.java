package org.dl4jamp.onednn.primitive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import org.dl4jamp.Networks;
import org.dl4jamp.onednn.memory.Layout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class WorkTest {
    private static final int THREADS = 3;

    private final int before = Work.threads();

    @BeforeEach
    void takeSomeThreads() {
        Work.setThreads(THREADS);
    }

    @AfterEach
    void takeAsManyAsBefore() {
        Work.setThreads(before);
    }

    @Test
    void aTinyLayersProductsAreSmallAndAnOrdinaryLayersAreNot() {
        assertTrue(Work.ofProducts(16 * 4 * 10).isSmall());
        assertTrue(Work.ofNumbers(16 * 10).isSmall());
        assertFalse(Work.ofProducts(256L * 1024 * 4096).isSmall());
        assertFalse(Work.ofNumbers(256L * 4096).isSmall());
        assertFalse(Work.LARGE.isSmall());
    }

    @Test
    void smallWorkIsPlannedForTheCallingThreadAloneAndAnyOtherForAll() {
        assertEquals(1, Work.ofNumbers(10).withItsThreads(Work::threads));
        assertEquals(THREADS, Work.threads());
        assertEquals(THREADS, Work.LARGE.withItsThreads(Work::threads));
        assertEquals(1, Work.LARGE.withItsThreads(() -> Work.ofNumbers(10).withItsThreads(Work::threads)));
        assertEquals(THREADS, Work.threads());
    }

    @Test
    void threadsThatNobodyAskedForAreNoMoreThanProcessors() {
        assertEquals(2, Work.useful(4, 4, 2));
        assertEquals(4, Work.useful(4, 4, 8));
        assertEquals(3, Work.useful(3, 4, 2), "set by a program");
        assertEquals(4, Work.useful(4, 0, 2), "set by the environment");
        assertTrue(CompletableFuture.supplyAsync(Work::threads).join()
                        <= Runtime.getRuntime().availableProcessors()
                || System.getenv("OMP_NUM_THREADS") != null);
    }

    @Test
    void theNumberOfThreadsComesBackAfterAnError() {
        assertThrows(IllegalStateException.class, () -> Work.ofNumbers(10).withItsThreads(() -> {
            throw new IllegalStateException("no such primitive");
        }));
        assertEquals(THREADS, Work.threads());
    }

    @Test
    void otherThreadsKeepTheirNumber() {
        int others = CompletableFuture.supplyAsync(Work::threads).join();
        Work.ofNumbers(10).withItsThreads(() -> {
            assertEquals(others, CompletableFuture.supplyAsync(Work::threads).join());
            return null;
        });
    }

    @Test
    void aKernelThatRunsAloneLeavesTheNumberOfThreadsAndComputesTheSame() {
        try (OneDnnContext context = new OneDnnContext()) {
            INDArray small = Networks.uniform(1, 7, 5);
            INDArray large = Networks.uniform(2, 700, 500);
            for (INDArray from : new INDArray[] {small, large}) {
                INDArray to = Nd4j.create(DataType.FLOAT, from.shape(), 'f');
                context.copies().copy(from, to);
                assertEquals(THREADS, Work.threads());
                assertEquals(from, to);
            }
        }
    }

    @Test
    void kernelsOfSmallWorkRunAloneAndOthersDoNot() {
        try (OneDnnContext context = new OneDnnContext();
                Kernel small = copy(context, 10);
                Kernel large = copy(context, 1_000_000)) {
            assertTrue(small.runsAlone());
            assertFalse(large.runsAlone());
        }
    }

    private static Kernel copy(OneDnnContext context, long numbers) {
        return OneDnnContext.make("a copy", Work.ofNumbers(numbers), () -> {
            var array = Layout.dense(DataType.FLOAT, numbers).descriptor();
            return context.copies().make("a copy", array, array);
        });
    }
}
