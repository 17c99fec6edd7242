package org.dl4jamp.engine.nd4j;

import java.util.Optional;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.DynamicCustomOp;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.LoggerFactory;

/** Products of HALF matrices whose terms are summed in FP32. */
interface Products {
    /**
     * Takes HALF matrices as they are: on the CUDA backend this becomes {@code cublasSgemmEx}, whose Tensor Core
     * products sum in FP32. Any strides will do there as long as one of the two is 1. The CPU backend rejects mixed
     * types.
     */
    Products MIXED_TYPES = (a, b, result, kept, memory) -> {
        // libnd4j takes single numbers for vectors, and its CUDA code for vectors supposes that all types are one.
        boolean numbers = a.size(-2) == 1 && a.size(-1) == 1 && b.size(-1) == 1;
        DataType type = numbers ? DataType.FLOAT : DataType.HALF;
        matmul(memory.cast(a, type), memory.cast(b, type), result, kept);
    };

    /** Casts both to FLOAT first: the same arithmetic, for any backend. */
    Products CAST = (a, b, result, kept, memory) ->
            matmul(memory.cast(a, DataType.FLOAT), memory.cast(b, DataType.FLOAT), result, kept);

    /**
     * Returns products of HALF matrices as they are, where ND4J has them: on the CUDA backend, with GPUs from compute
     * capability 6.0. It's tried out once. Empty if FP32 products are the better choice.
     */
    static Optional<Products> fast() {
        return Nd4jEngine.onCuda() ? OnCuda.HALF_PRODUCTS : Optional.empty();
    }

    /** The result of the check on this process's GPU. */
    final class OnCuda {
        private static final Optional<Products> HALF_PRODUCTS = tried();

        private OnCuda() {}

        private static Optional<Products> tried() {
            if (ProductsCheck.isRight(MIXED_TYPES)) {
                return Optional.of(MIXED_TYPES);
            }
            LoggerFactory.getLogger(Products.class)
                    .info("ND4J doesn't multiply HALF matrices into FP32 on this GPU: layers multiply in FP32");
            return Optional.empty();
        }
    }

    /**
     * Computes {@code result = a b + kept * result}, for matrices or batches of them: two axes more, of any two sizes.
     *
     * @param a HALF {@code [m, k]}, or {@code [.., .., m, k]}
     * @param b HALF {@code [k, n]}
     * @param result FLOAT {@code [m, n]}, rows or columns contiguous
     * @param kept factor of the result's present content; 0 to overwrite it, whatever it is
     * @param memory for casts
     */
    void multiply(INDArray a, INDArray b, INDArray result, double kept, WorkingMemory memory);

    private static void matmul(INDArray a, INDArray b, INDArray result, double kept) {
        // BLAS writes columns: for contiguous rows libnd4j would compute in a copy.
        boolean columns = result.size(-2) == 1 || result.stride(-2) == 1;
        Nd4j.exec(DynamicCustomOp.builder("matmul")
                .addInputs(columns ? a : transposed(b), columns ? b : transposed(a))
                .addOutputs(columns ? result : transposed(result))
                .addFloatingPointArguments(1.0, kept)
                .build());
    }

    /** Returns a view of a matrix, or of each of a batch, with rows and columns exchanged. */
    static INDArray transposed(INDArray matrices) {
        return matrices.rank() == 2 ? matrices.transpose() : matrices.permute(0, 1, 3, 2);
    }
}
