package org.dl4jamp.benchmarks.blueprint;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import java.util.List;

/** A step of the forward pass. Its name is unique in its blueprint. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "kind")
@JsonSubTypes({
    @JsonSubTypes.Type(value = Operation.Convolution.class, name = "convolution"),
    @JsonSubTypes.Type(value = Operation.BatchNormalization.class, name = "batch-normalization"),
    @JsonSubTypes.Type(value = Operation.Relu.class, name = "relu"),
    @JsonSubTypes.Type(value = Operation.MaxPooling.class, name = "max-pooling"),
    @JsonSubTypes.Type(value = Operation.Flatten.class, name = "flatten"),
    @JsonSubTypes.Type(value = Operation.Dense.class, name = "dense"),
    @JsonSubTypes.Type(value = Operation.Lstm.class, name = "lstm"),
    @JsonSubTypes.Type(value = Operation.Attention.class, name = "attention"),
    @JsonSubTypes.Type(value = Operation.Add.class, name = "add"),
    @JsonSubTypes.Type(value = Operation.Merge.class, name = "merge"),
    @JsonSubTypes.Type(value = Operation.Upsampling.class, name = "upsampling"),
})
public sealed interface Operation {
    /** Returns its name, and that of its output. */
    String name();

    /** Returns its inputs: names of operations, or {@link Blueprint#INPUT}. */
    List<String> inputs();

    /** A convolution of images, with a bias. */
    record Convolution(String name, List<String> inputs, Window window) implements Operation {}

    /**
     * Batch normalization, in training with the statistics of the minibatch, in inference with the running ones.
     *
     * @param epsilon added to the variance
     * @param decay of the running statistics: how much of them stays in each step
     */
    record BatchNormalization(String name, List<String> inputs, double epsilon, double decay) implements Operation {}

    /** The positive part. */
    record Relu(String name, List<String> inputs) implements Operation {}

    /** The largest number of each window. */
    record MaxPooling(String name, List<String> inputs, Window window) implements Operation {}

    /** Images as rows: channels, then height, then width. */
    record Flatten(String name, List<String> inputs) implements Operation {}

    /**
     * A product with weights, on rows or on each step of a sequence.
     *
     * @param bias whether a bias is added
     */
    record Dense(String name, List<String> inputs, boolean bias) implements Operation {}

    /**
     * A long short-term memory over a sequence, from a state of zeros.
     *
     * @param peepholes whether gates read the cells: input and forget gate those of the last step, the output gate
     *     those of its own
     */
    record Lstm(String name, List<String> inputs, boolean peepholes) implements Operation {}

    /**
     * Scaled dot-product attention of the steps of a sequence to one another, without weights of its own. A. Vaswani et
     * al., Attention Is All You Need, 2017, section 3.2.
     *
     * <p>Each step of its input has the queries of all heads, then the keys, then the values: {@code [minibatch, time,
     * 3 * heads * size]}. Its output is {@code [minibatch, time, heads * size]}.
     *
     * @param heads number of heads
     */
    record Attention(String name, List<String> inputs, int heads) implements Operation {}

    /** The sum of two inputs of the same shape. */
    record Add(String name, List<String> inputs) implements Operation {}

    /** The channels of two or more images, one input after the other. */
    record Merge(String name, List<String> inputs) implements Operation {}

    /**
     * Images with each pixel repeated.
     *
     * @param rows how often along the height
     * @param columns how often along the width
     */
    record Upsampling(String name, List<String> inputs, int rows, int columns) implements Operation {}
}
