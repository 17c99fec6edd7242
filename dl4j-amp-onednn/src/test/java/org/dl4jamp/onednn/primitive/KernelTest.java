package org.dl4jamp.onednn.primitive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.host.FlatFloats;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * ND4J frees the memory of an array when nothing refers to it any more, so a kernel with its address refers to the
 * array.
 */
class KernelTest {
    private static final int NUMBERS = 1000;

    private final OneDnnContext context = new OneDnnContext();

    @AfterEach
    void close() {
        context.close();
    }

    /** A kernel that copies numbers. */
    private Kernel copying() {
        return OneDnnContext.make("a copy", Work.ofNumbers(NUMBERS), () -> {
            memory.desc array = Layout.dense(DataType.FLOAT, NUMBERS).descriptor();
            return context.copies().make("a copy", array, array);
        });
    }

    private static void collectGarbage(WeakReference<?> until) throws InterruptedException {
        for (int i = 0; i < 20 && until.get() != null; i++) {
            System.gc();
            Thread.sleep(10);
        }
    }

    private static WeakReference<INDArray> bindNew(Kernel kernel, int argument) {
        INDArray array = Nd4j.valueArrayOf(NUMBERS, 3f);
        kernel.bind(argument, array);
        return new WeakReference<>(array);
    }

    @Test
    void whatIsBoundIsThereUntilTheKernelHasRunAndNotLonger() throws InterruptedException {
        INDArray to = Nd4j.create(DataType.FLOAT, NUMBERS);
        try (Kernel kernel = copying()) {
            WeakReference<INDArray> from = bindNew(kernel, dnnl.DNNL_ARG_FROM);
            kernel.bind(dnnl.DNNL_ARG_TO, to);
            collectGarbage(from);
            assertNotNull(from.get(), "collected between bind and run");
            kernel.run();
            assertEquals(3.0 * NUMBERS, to.sumNumber().doubleValue());
            collectGarbage(from);
            assertNull(from.get(), "kept after the run");
        }
    }

    @Test
    void aPartOfAnArrayKeepsTheArray() throws InterruptedException {
        try (Kernel kernel = copying()) {
            INDArray array = Nd4j.create(DataType.FLOAT, 2, NUMBERS);
            WeakReference<INDArray> from = new WeakReference<>(array);
            kernel.bind(dnnl.DNNL_ARG_FROM, Slab.of(array).plus(NUMBERS));
            array = null;
            collectGarbage(from);
            assertNotNull(from.get(), "collected between bind and run");
        }
    }

    @Test
    void numbersForLoopsInJavaKeepTheirArray() throws InterruptedException {
        INDArray array = Nd4j.valueArrayOf(NUMBERS, 3f);
        WeakReference<INDArray> reference = new WeakReference<>(array);
        FlatFloats flat = FlatFloats.of(array).orElseThrow();
        array = null;
        collectGarbage(reference);
        assertNotNull(reference.get(), "collected while its numbers are read");
        assertEquals(3, flat.range(0, 1).get());
    }

    @Test
    void whatThePrimitiveHasNoArgumentForIsRefused() {
        INDArray array = Nd4j.create(DataType.FLOAT, NUMBERS);
        try (Kernel kernel = copying()) {
            assertThrows(IllegalArgumentException.class, () -> kernel.bind(dnnl.DNNL_ARG_WORKSPACE, array));
        }
    }

    @Test
    void lessMemoryThanThePrimitiveReadsIsRefused() {
        INDArray tooSmall = Nd4j.create(DataType.FLOAT, NUMBERS - 1);
        INDArray enough = Nd4j.create(DataType.FLOAT, NUMBERS);
        INDArray view = Nd4j.create(DataType.FLOAT, 2 * NUMBERS).get(NDArrayIndex.interval(0, NUMBERS - 1));
        try (Kernel kernel = copying()) {
            for (INDArray array : new INDArray[] {tooSmall, view}) {
                AmpException refusal = assertThrows(AmpException.class, () -> kernel.bind(dnnl.DNNL_ARG_FROM, array));
                assertTrue(refusal.getMessage().contains("3996"), refusal.getMessage());
            }
            assertThrows(
                    AmpException.class,
                    () -> kernel.bind(dnnl.DNNL_ARG_FROM, Slab.of(enough).plus(1)));
            kernel.bind(dnnl.DNNL_ARG_FROM, enough).bind(dnnl.DNNL_ARG_TO, enough);
        }
    }
}
