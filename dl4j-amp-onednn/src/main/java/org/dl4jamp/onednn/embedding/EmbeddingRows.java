package org.dl4jamp.onednn.embedding;

import java.lang.ref.Reference;
import java.util.Arrays;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.indexer.FloatIndexer;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.dl4jamp.onednn.memory.Handle;
import org.dl4jamp.onednn.memory.Workspaces;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Rows of an embedding's table, which DL4J stores column by column: a row is spread over the whole table. So columns
 * are the outer loop here, and each of them is gone through from its beginning to its end.
 */
final class EmbeddingRows {
    private final long[] rows;
    private final int[] ascending;
    private final float[] mask;

    private EmbeddingRows(long[] rows, float[] mask) {
        this.rows = rows;
        this.ascending = ascending(rows);
        this.mask = mask;
    }

    /**
     * Returns the rows to look up, in order.
     *
     * @param indices of the rows, of any type: from 2^24 on FLOAT hasn't every number, INT and LONG have
     * @param mask the factor of each row; null for none
     * @throws DL4JInvalidInputException if the mask hasn't one number for each row
     */
    static EmbeddingRows of(INDArray indices, INDArray mask) {
        if (mask != null && mask.length() != indices.length()) {
            throw new DL4JInvalidInputException("Got a mask of shape " + Arrays.toString(mask.shape())
                    + " for indices of shape " + Arrays.toString(indices.shape())
                    + ": it has to hold one number for each of them");
        }
        return new EmbeddingRows(
                indices.dup('c').data().asLong(),
                mask == null ? null : mask.dup('c').data().asFloat());
    }

    /**
     * Returns the places of the smallest row number, of the next larger one, and so on. Of a number that isn't an int
     * it looks at the lower half, which orders the places, too.
     */
    private static int[] ascending(long[] rows) {
        long[] rowsAndPlaces = new long[rows.length];
        Arrays.setAll(rowsAndPlaces, place -> (rows[place] << Integer.SIZE) | place);
        Arrays.sort(rowsAndPlaces);
        return Arrays.stream(rowsAndPlaces).mapToInt(both -> (int) both).toArray();
    }

    /** Returns whether the table has all of the rows. */
    boolean isWithin(long size) {
        for (long row : rows) {
            if (row < 0 || row >= size) {
                return false;
            }
        }
        return true;
    }

    /** Returns the numbers of an array, which has to be reachable until they've been read or written. */
    private static FloatIndexer memory(INDArray array) {
        long length = array.length();
        FloatPointer pointer = new FloatPointer(new Handle().at(Workspaces.address(array)));
        return FloatIndexer.create(pointer.capacity(length).limit(length));
    }

    boolean isMasked() {
        return mask != null;
    }

    int count() {
        return rows.length;
    }

    /**
     * Reads rows.
     *
     * @param table FLOAT {@code [size, columns]}, column by column
     * @param bias the summand of each row: FLOAT, one number for each column; null for none
     * @param target FLOAT {@code [columns, rows]}, contiguous
     */
    void read(INDArray table, INDArray bias, INDArray target) {
        long size = table.size(0);
        FloatIndexer from = memory(table);
        FloatIndexer to = memory(target);
        try {
            for (long column = 0; column < table.size(1); column++) {
                float summand = bias == null ? 0 : bias.getFloat(column);
                for (int place : ascending) {
                    to.put(column * rows.length + place, from.get(column * size + rows[place]) + summand);
                }
            }
        } finally {
            Reference.reachabilityFence(table);
            Reference.reachabilityFence(target);
        }
    }

    /**
     * Multiplies each row by its mask, if there is one.
     *
     * @param columns FLOAT {@code [columns, rows]}, contiguous
     */
    void mask(INDArray columns) {
        if (mask == null) {
            return;
        }
        FloatIndexer numbers = memory(columns);
        try {
            for (long column = 0; column < columns.size(0); column++) {
                for (int place = 0; place < rows.length; place++) {
                    long at = column * rows.length + place;
                    numbers.put(at, numbers.get(at) * mask[place]);
                }
            }
        } finally {
            Reference.reachabilityFence(columns);
        }
    }

    /**
     * Computes the gradient of the table.
     *
     * @param delta FLOAT {@code [columns, rows]}, contiguous
     * @param gradient FLOAT {@code [size, columns]}, column by column
     */
    void addUp(INDArray delta, INDArray gradient) {
        gradient.assign(0);
        long size = gradient.size(0);
        FloatIndexer from = memory(delta);
        FloatIndexer to = memory(gradient);
        try {
            for (long column = 0; column < gradient.size(1); column++) {
                for (int place : ascending) {
                    long target = column * size + rows[place];
                    to.put(target, to.get(target) + from.get(column * rows.length + place));
                }
            }
        } finally {
            Reference.reachabilityFence(delta);
            Reference.reachabilityFence(gradient);
        }
    }

    /**
     * Computes the gradient of the bias.
     *
     * @param delta FLOAT {@code [columns, rows]}, contiguous
     * @param gradient FLOAT, one number for each column
     */
    void addUpAll(INDArray delta, INDArray gradient) {
        FloatIndexer from = memory(delta);
        try {
            for (long column = 0; column < delta.size(0); column++) {
                double sum = 0;
                for (int place = 0; place < rows.length; place++) {
                    sum += from.get(column * rows.length + place);
                }
                gradient.putScalar(column, sum);
            }
        } finally {
            Reference.reachabilityFence(delta);
        }
    }
}
