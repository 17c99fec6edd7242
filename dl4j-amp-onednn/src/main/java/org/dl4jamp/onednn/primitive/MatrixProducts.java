package org.dl4jamp.onednn.primitive;

import java.util.Arrays;
import org.bytedeco.dnnl.global.dnnl;
import org.dl4jamp.onednn.memory.Layout;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A network's products of matrices of any strides: their kernels are made once for each triple of layouts. */
public final class MatrixProducts implements AutoCloseable {
    private static final int MOST = 1024;

    private final OneDnnContext context;
    private final KernelCache<Task, Kernel> kernels = new KernelCache<>(MOST);

    /** Stacks of matrices, {@code [stack, rows, columns]}, or single ones, {@code [rows, columns]}. */
    private record Task(Layout left, Layout right, Layout target) {
        /** The same product as rows that are columns: for a target whose columns are contiguous. */
        Task transposed() {
            return new Task(transposed(right), transposed(left), transposed(target));
        }

        private static Layout transposed(Layout matrices) {
            return matrices.shape().length == 2 ? matrices.permuted(1, 0) : matrices.permuted(0, 2, 1);
        }
    }

    MatrixProducts(OneDnnContext context) {
        this.context = context;
    }

    /**
     * Returns whether a target can be written in place: its rows or its columns are contiguous, and several matrices
     * follow each other without gaps.
     */
    public static boolean isWritable(INDArray target) {
        return Layout.isReadable(target) && target.rank() > 1 && isRegular(target);
    }

    /**
     * Multiplies matrices, or pairs of several. Arrays that oneDNN can't read in place are copied.
     *
     * @param target {@linkplain #isWritable writable}, overwritten
     * @throws IllegalArgumentException if shapes or types don't fit, or the target isn't writable
     */
    public void multiply(INDArray left, INDArray right, INDArray target) {
        requireFit(left, right, target);
        INDArray first = regular(left);
        INDArray second = regular(right);
        Task task = new Task(stack(first), stack(second), stack(target));
        boolean columnsContiguous = target.stride(target.rank() - 1) != 1 && target.size(target.rank() - 1) > 1;
        Task run = columnsContiguous ? task.transposed() : task;
        kernels.get(run, () -> make(run))
                .bind(dnnl.DNNL_ARG_SRC, columnsContiguous ? second : first)
                .bind(dnnl.DNNL_ARG_WEIGHTS, columnsContiguous ? first : second)
                .bind(dnnl.DNNL_ARG_DST, target)
                .run();
    }

    private Kernel make(Task task) {
        String what = "a product of " + task.left() + " and " + task.right();
        return OneDnnContext.make(what, Work.ofNumbers(task.target().length()), () -> new Multiplication(
                        context,
                        what,
                        task.left().descriptor(),
                        task.right().descriptor(),
                        task.target().descriptor())
                .kernel());
    }

    /** Returns whether shapes and types are those of a product, and the target is {@linkplain #isWritable writable}. */
    public static boolean fit(INDArray left, INDArray right, INDArray target) {
        return isProduct(left, right, target) && isWritable(target);
    }

    private static boolean isProduct(INDArray left, INDArray right, INDArray target) {
        int rank = target.rank();
        boolean fits = rank > 1 && left.rank() == rank && right.rank() == rank && isKnown(left, right, target);
        for (int axis = 0; fits && axis < rank - 2; axis++) {
            fits = left.size(axis) == target.size(axis) && right.size(axis) == target.size(axis);
        }
        return fits
                && left.size(rank - 2) == target.size(rank - 2)
                && right.size(rank - 1) == target.size(rank - 1)
                && left.size(rank - 1) == right.size(rank - 2);
    }

    private static void requireFit(INDArray left, INDArray right, INDArray target) {
        if (!fit(left, right, target)) {
            throw new IllegalArgumentException(
                    "No product of " + describe(left) + " and " + describe(right) + " is made into " + describe(target)
                            + (isProduct(left, right, target) ? ", whose strides leave gaps" : ""));
        }
    }

    private static boolean isKnown(INDArray left, INDArray right, INDArray target) {
        return Layout.isKnown(left.dataType())
                && left.dataType() == right.dataType()
                && (target.dataType() == left.dataType() || target.dataType() == DataType.FLOAT)
                && !left.isEmpty()
                && !right.isEmpty();
    }

    private static String describe(INDArray array) {
        return array.dataType() + " " + Arrays.toString(array.shape());
    }

    private static INDArray regular(INDArray array) {
        if (Layout.isReadable(array) && isRegular(array)) {
            return array;
        }
        return array.dup('c');
    }

    /**
     * Returns whether one of the last two axes is contiguous. Matrices of a stack have to follow each other without
     * gaps: oneDNN 3.11 mistakes other strides of small ones.
     */
    private static boolean isRegular(INDArray array) {
        int rank = array.rank();
        long rows = array.size(rank - 2);
        long columns = array.size(rank - 1);
        boolean rowsContiguous = columns == 1 || array.stride(rank - 1) == 1;
        boolean columnsContiguous = rows == 1 || array.stride(rank - 2) == 1;
        boolean matrix = (rowsContiguous && (rows == 1 || array.stride(rank - 2) >= columns))
                || (columnsContiguous && (columns == 1 || array.stride(rank - 1) >= rows));
        return matrix && (rank == 2 || isDenseStack(array, rowsContiguous));
    }

    private static boolean isDenseStack(INDArray array, boolean rowsContiguous) {
        int rank = array.rank();
        long rows = array.size(rank - 2);
        long columns = array.size(rank - 1);
        boolean dense = rowsContiguous
                ? rows == 1 || array.stride(rank - 2) == columns
                : columns == 1 || array.stride(rank - 1) == rows;
        long expected = rows * columns;
        for (int axis = rank - 3; axis >= 0; axis--) {
            dense = dense && (array.size(axis) == 1 || array.stride(axis) == expected);
            expected *= array.size(axis);
        }
        return dense;
    }

    private static Layout stack(INDArray array) {
        int rank = array.rank();
        long rows = array.size(rank - 2);
        long columns = array.size(rank - 1);
        // ND4J's strides of axes with one element say nothing.
        long columnStride = columns == 1 ? 1 : array.stride(rank - 1);
        long rowStride = rows == 1 ? columns * columnStride : array.stride(rank - 2);
        if (rank == 2) {
            return Layout.strided(array.dataType(), new long[] {rows, columns}, rowStride, columnStride);
        }
        return Layout.strided(
                array.dataType(),
                new long[] {array.length() / rows / columns, rows, columns},
                rows * columns,
                rowStride,
                columnStride);
    }

    @Override
    public void close() {
        kernels.close();
    }
}
