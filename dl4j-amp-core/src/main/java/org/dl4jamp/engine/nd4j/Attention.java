package org.dl4jamp.engine.nd4j;

import static org.dl4jamp.engine.nd4j.Products.transposed;

import java.util.Map;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.ExternalErrors;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.transforms.custom.SoftMax;
import org.nd4j.linalg.factory.Nd4j;

/**
 * One pass of dot-product attention with several heads, by the formulas of ND4J's operations
 * {@code dot_product_attention} and {@code multi_head_dot_product_attention}:
 *
 * <pre>
 * Q, K, V = Wq queries, Wk keys, Wv values       for each head
 * S = Q K' / sqrt(headSize) + 1e9 (mask - 1)     for each example and head, [queries, keys]
 * output = Wo' (softmax(S) V)                    heads below each other
 * </pre>
 *
 * <p>Scores, softmax and sums of products are FP32. What enters a product is rounded once. Without weights there is one
 * head, and queries, keys and values are used as they are.
 */
final class Attention {
    private static final double MASKED = 1e9;

    private final Map<String, INDArray> weights;
    private final Products products;
    private final WorkingMemory memory;
    private final DataType type;
    private final Side queries;
    private final Side keys;
    private final Side values;
    private final INDArray softmax;
    private final INDArray rounded;
    private final INDArray context;

    /** Queries, keys or values, before and after their projection to heads. */
    private record Side(String weight, INDArray rows, INDArray heads) {}

    /**
     * Runs forward, except for the last projection.
     *
     * @param weights half {@code Wq}, {@code Wk} and {@code Wv} of shape {@code [heads, headSize, size]}, and
     *     {@code Wo}, {@code [heads * headSize, nOut]}; none of them for attention without projection
     * @param queries half {@code [minibatch, size, queries]}
     * @param keys half {@code [minibatch, size, keys]}
     * @param values half {@code [minibatch, size, keys]}
     * @param mask {@code [minibatch, keys]}; null if there is none
     * @param type what enters a product is rounded to: half, or FLOAT with products that cast
     */
    Attention(
            Map<String, INDArray> weights,
            INDArray queries,
            INDArray keys,
            INDArray values,
            INDArray mask,
            DataType type,
            Products products,
            WorkingMemory memory) {
        this.weights = weights;
        this.products = products;
        this.memory = memory;
        this.type = type;
        this.keys = side("Wk", keys, rows(keys));
        this.values = side("Wv", values, values == keys ? this.keys.rows() : rows(values));
        this.queries = side("Wq", queries, queries == keys ? this.keys.rows() : rows(queries));
        softmax = product(this.queries.heads(), transposed(this.keys.heads())).divi(scale());
        if (mask != null) {
            INDArray added = memory.create(DataType.FLOAT, 'c', mask.shape()).assign(mask);
            softmax.addi(added.subi(1).muli(MASKED).reshape(mask.size(0), 1, 1, mask.size(1)));
        }
        Nd4j.exec(new SoftMax(softmax, softmax, -1));
        rounded = memory.cast(softmax, type);
        context = product(rounded, this.values.heads());
    }

    /** Returns FLOAT {@code [minibatch, nOut, queries]}, in another order in memory. */
    INDArray output() {
        INDArray rows = weights.containsKey("Wo") ? product(joined(context, type), weights.get("Wo")) : joined(context);
        return sequences(rows, context);
    }

    /**
     * Runs backward. Returns the gradients of queries, keys and values, FLOAT {@code [minibatch, size, time]} each, in
     * another order in memory. All gradients are multiples of the true ones, as DL4J's own are.
     *
     * @param epsilon half {@code [minibatch, nOut, queries]}
     * @param gradients FLOAT gradients of the weights, to be overwritten
     */
    INDArray[] backward(INDArray epsilon, Map<String, INDArray> gradients) {
        INDArray delta = rows(epsilon).muli(ExternalErrors.factor());
        if (weights.containsKey("Wo")) {
            products.multiply(joined(context, type).transpose(), delta, gradients.get("Wo"), 0, memory);
            delta = memory.cast(product(delta, weights.get("Wo").transpose()), type);
        }
        INDArray ofContext = heads(delta, epsilon);
        INDArray ofSoftmax = product(ofContext, transposed(values.heads()));
        INDArray weighted = memory.create(DataType.FLOAT, 'c', ofSoftmax.shape());
        ofSoftmax.muli(softmax, weighted);
        INDArray sums = memory.create(DataType.FLOAT, 'c', withLast(weighted, 1));
        weighted.sum(sums, true, 3);
        INDArray ofScores = memory.cast(ofSoftmax.subi(sums).muli(softmax).divi(scale()), type);
        return new INDArray[] {
            backward(queries, product(ofScores, keys.heads()), gradients),
            backward(keys, product(transposed(ofScores), queries.heads()), gradients),
            backward(values, product(transposed(rounded), ofContext), gradients)
        };
    }

    /** Runs backward from the gradient of the heads, FLOAT, to that of what they were projected from. */
    private INDArray backward(Side side, INDArray ofHeads, Map<String, INDArray> gradients) {
        if (!weights.containsKey(side.weight())) {
            return sequences(joined(ofHeads), ofHeads);
        }
        INDArray delta = joined(ofHeads, type);
        products.multiply(delta.transpose(), side.rows(), matrix(gradients.get(side.weight())), 0, memory);
        return sequences(product(delta, matrix(weights.get(side.weight()))), ofHeads);
    }

    /** Returns an array in C order for the next layer. */
    static INDArray result(INDArray array, DataType type, ArrayType place, LayerWorkspaceMgr workspaceMgr) {
        return workspaceMgr.createUninitialized(place, type, array.shape(), 'c').assign(array);
    }

    private double scale() {
        return Math.sqrt((double) keys.heads().size(3));
    }

    private Side side(String weight, INDArray sequences, INDArray rows) {
        INDArray weights = this.weights.get(weight);
        INDArray projected = weights == null
                ? rows
                : memory.cast(product(rows, matrix(weights).transpose()), type);
        return new Side(weight, rows, heads(projected, sequences));
    }

    /** Returns all time steps of {@code [minibatch, size, time]} below each other, for one product over all of them. */
    private INDArray rows(INDArray sequences) {
        return memory.create(type, 'c', sequences.size(0), sequences.size(2), sequences.size(1))
                .assign(sequences.permute(0, 2, 1))
                .reshape('c', sequences.size(0) * sequences.size(2), sequences.size(1));
    }

    /** Returns a view of rows as {@code [minibatch, size, time]}, with minibatch and time of the heads. */
    private static INDArray sequences(INDArray rows, INDArray heads) {
        return rows.reshape('c', heads.size(0), heads.size(2), rows.size(1)).permute(0, 2, 1);
    }

    /** Returns a view of rows as {@code [minibatch, heads, time, headSize]}. */
    private INDArray heads(INDArray rows, INDArray sequences) {
        long heads = weights.containsKey("Wq") ? weights.get("Wq").size(0) : 1;
        return rows.reshape('c', sequences.size(0), sequences.size(2), heads, rows.size(1) / heads)
                .permute(0, 2, 1, 3);
    }

    /** Returns the rows of {@code [minibatch, heads, time, headSize]}, which is contiguous, if there is one head. */
    private static INDArray joined(INDArray heads) {
        return heads.reshape('c', heads.size(0) * heads.size(2), heads.size(3));
    }

    /** Returns a copy of {@code [minibatch, heads, time, headSize]} as rows, rounded. */
    private INDArray joined(INDArray heads, DataType type) {
        return memory.create(type, 'c', heads.size(0), heads.size(2), heads.size(1), heads.size(3))
                .assign(heads.permute(0, 2, 1, 3))
                .reshape('c', heads.size(0) * heads.size(2), heads.size(1) * heads.size(3));
    }

    private INDArray product(INDArray left, INDArray right) {
        INDArray result = memory.create(DataType.FLOAT, 'c', withLast(left, right.size(-1)));
        products.multiply(left, right, result, 0, memory);
        return result;
    }

    private static long[] withLast(INDArray array, long size) {
        long[] shape = array.shape().clone();
        shape[shape.length - 1] = size;
        return shape;
    }

    /** Returns a view of {@code [heads, headSize, size]} with all heads below each other. */
    private static INDArray matrix(INDArray weights) {
        return weights.reshape('c', weights.size(0) * weights.size(1), weights.size(2));
    }
}
