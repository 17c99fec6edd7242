package org.dl4jamp.onednn;

import java.util.Arrays;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.indexer.FloatIndexer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.params.DefaultParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Rows of an embedding's table, which DL4J stores column by column: a row is spread over the whole table. So columns are the outer loop here,
 * and each of them is gone through from its beginning to its end.
 */
final class EmbeddingRows {
    private final int[] rows;
    private final int[] ascending;
    private final float[] mask;

    private EmbeddingRows(int[] rows, float[] mask) {
        this.rows = rows;
        this.ascending = ascending(rows);
        this.mask = mask;
    }

    /**
     * Which rows, in order.
     *
     * @param indices of the rows
     * @param mask what each of them is multiplied by; null for nothing
     */
    static EmbeddingRows of(INDArray indices, INDArray mask) {
        return new EmbeddingRows(
                indices.dup('c').data().asInt(),
                mask == null ? null : mask.dup('c').data().asFloat());
    }

    /** The places of the smallest row number, of the next larger one, and so on. */
    private static int[] ascending(int[] rows) {
        long[] rowsAndPlaces = new long[rows.length];
        Arrays.setAll(rowsAndPlaces, place -> ((long) rows[place] << Integer.SIZE) | place);
        Arrays.sort(rowsAndPlaces);
        return Arrays.stream(rowsAndPlaces).mapToInt(both -> (int) both).toArray();
    }

    /** Whether the table has all of the rows. */
    boolean isWithin(long size) {
        for (int row : rows) {
            if (row < 0 || row >= size) {
                return false;
            }
        }
        return true;
    }

    private static FloatIndexer memory(INDArray array) {
        long length = array.length();
        FloatPointer pointer = new FloatPointer(new Handle().at(Workspaces.address(array)));
        return FloatIndexer.create(pointer.capacity(length).limit(length));
    }

    /**
     * Reads rows.
     *
     * @param table FLOAT {@code [size, columns]}, column by column
     * @param target FLOAT {@code [columns, rows, ...]}, contiguous
     */
    void read(INDArray table, INDArray target) {
        long size = table.size(0);
        FloatIndexer from = memory(table);
        FloatIndexer to = memory(target);
        for (long column = 0; column < table.size(1); column++) {
            for (int place : ascending) {
                float value = from.get(column * size + rows[place]);
                to.put(column * rows.length + place, mask == null ? value : value * mask[place]);
            }
        }
    }

    /**
     * The gradient of the table, in its view.
     *
     * @param epsilon {@code [columns, rows, ...]}
     * @param view FLOAT {@code [size, columns]}, column by column
     */
    Gradient gradient(INDArray epsilon, INDArray view, OneDnnContext context, LayerWorkspaceMgr workspaceMgr) {
        INDArray columns = Workspaces.dense(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, epsilon.shape());
        context.copy(epsilon, columns);
        addUp(columns, view);
        Gradient gradient = new DefaultGradient();
        gradient.setGradientFor(DefaultParamInitializer.WEIGHT_KEY, view);
        return gradient;
    }

    private void addUp(INDArray epsilon, INDArray gradient) {
        gradient.assign(0);
        long size = gradient.size(0);
        FloatIndexer from = memory(epsilon);
        FloatIndexer to = memory(gradient);
        for (long column = 0; column < gradient.size(1); column++) {
            for (int place : ascending) {
                float value = from.get(column * rows.length + place);
                long target = column * size + rows[place];
                to.put(target, to.get(target) + (mask == null ? value : value * mask[place]));
            }
        }
    }
}
