package org.dl4jamp.engine.nd4j;

import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether products come out right on this machine. Releases of ND4J differ in what they do with mixed types, and for GPUs
 * older than compute capability 6.0 their CUDA code writes HALF numbers where FLOAT ones belong.
 */
final class ProductsCheck {
    private static final Logger LOG = LoggerFactory.getLogger(ProductsCheck.class);

    /** Sums of as many ones need FP32: in FP16 they don't get beyond 2048. */
    private static final long TERMS = 4096;

    private ProductsCheck() {}

    /** Tries sums of 4096 products, added to what the result holds, in all orders that matrices can have in memory. */
    static boolean isRight(Products products) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            for (char left : new char[] {'c', 'f'}) {
                for (char right : new char[] {'c', 'f'}) {
                    if (!isRight(products, left, right, 'c') || !isRight(products, left, right, 'f')) {
                        return false;
                    }
                }
            }
            return true;
        } catch (RuntimeException e) {
            LOG.debug("Products of HALF matrices failed", e);
            return false;
        }
    }

    private static boolean isRight(Products products, char leftOrder, char rightOrder, char resultOrder) {
        INDArray left = Nd4j.createUninitialized(DataType.HALF, new long[] {3, TERMS}, leftOrder);
        INDArray right = Nd4j.createUninitialized(DataType.HALF, new long[] {TERMS, 2}, rightOrder);
        INDArray result = Nd4j.createUninitialized(DataType.FLOAT, new long[] {3, 2}, resultOrder);
        for (int row = 0; row < 3; row++) {
            left.getRow(row).assign(row + 1);
        }
        for (int column = 0; column < 2; column++) {
            right.getColumn(column).assign(column + 1);
        }
        result.assign(1);
        products.multiply(left, right, result, 2, WorkingMemory.forward(LayerWorkspaceMgr.noWorkspaces()));
        for (int row = 0; row < 3; row++) {
            for (int column = 0; column < 2; column++) {
                if (result.getDouble(row, column) != TERMS * (row + 1) * (column + 1) + 2) {
                    return false;
                }
            }
        }
        return true;
    }
}
