package org.dl4jamp.onednn.cell;

import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.layers.AbstractLSTM;
import org.dl4jamp.onednn.memory.SequenceShape;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.OneDnnLibrary;
import org.dl4jamp.onednn.weights.WeightCopies;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * oneDNN's own LSTM for the shapes of a layer's input, in inference mode. Its weights are made once, and nothing is
 * kept for a backward pass. It has no masks.
 */
public final class LstmInference implements Twin.Weights, AutoCloseable {
    /** More than other layers have: sequences come in many lengths, and all shapes share the memory for the weights. */
    public static final int SHAPES = 4 * KernelCache.SHAPES;

    private final OneDnnContext context;
    private final Supplier<String> layer;
    private final DataType type;
    private final KernelCache<SequenceShape, LstmParts> primitives = new KernelCache<>(SHAPES);
    private final Weights weights;

    /** Copies of weights and biases: one for each order that primitives read, whatever the number of shapes. */
    record Weights(WeightCopies input, WeightCopies recurrent, WeightCopies bias, Optional<WeightCopies> peepholes) {
        static Weights make(boolean hasPeepholes) {
            return new Weights(
                    new WeightCopies(true),
                    new WeightCopies(true),
                    new WeightCopies(true),
                    hasPeepholes ? Optional.of(new WeightCopies(true)) : Optional.empty());
        }

        boolean hasPeepholes() {
            return peepholes.isPresent();
        }

        private Stream<WeightCopies> all() {
            return Stream.concat(Stream.of(input, recurrent, bias), peepholes.stream());
        }
    }

    private LstmInference(OneDnnContext context, Supplier<String> layer, DataType type, boolean hasPeepholes) {
        this.context = context;
        this.layer = layer;
        this.type = type;
        this.weights = Weights.make(hasPeepholes);
    }

    /**
     * Returns the LSTM of a layer with tanh and sigmoid, which are oneDNN's functions.
     *
     * @return empty in training, and if oneDNN has none
     */
    public static Optional<LstmInference> of(
            OneDnnContext context, Supplier<String> layer, DataType type, AbstractLSTM conf) {
        return context.infers() && LstmCell.isUsual(conf) && isThereFor(type)
                ? Optional.of(new LstmInference(context, layer, type, LstmCell.hasPeepholes(conf)))
                : Optional.empty();
    }

    /**
     * Returns whether oneDNN has it. Without AVX2 it packs weights in an order that can't be filled gate by gate. Where
     * BFLOAT16 is emulated it divides by zero when it shares a product among threads, and takes the process along.
     */
    public static boolean isThereFor(DataType type) {
        return type == DataType.FLOAT
                ? OneDnnLibrary.hasAvx2()
                : OneDnnLibrary.bfloat16() == OneDnnLibrary.Bfloat16.NATIVE;
    }

    /**
     * Runs a forward pass.
     *
     * @param x the input, {@code [steps, minibatch, nIn]}
     * @param lastState takes the state after it, outside workspaces; null if unused
     * @return {@code [steps, minibatch, units]}
     */
    public INDArray outputs(Sequences sequences, INDArray x, LastState lastState, SequenceMemory place) {
        SequenceShape shape = sequences.shape(LstmCell.GATES);
        INDArray outputs = place.create(type, shape.steps(), shape.minibatch(), shape.units());
        primitives
                .get(shape, () -> new LstmParts(context, layer.get(), type, shape, weights, LstmParts.count(shape)))
                .run(x, sequences.parameters(), sequences.initial(), outputs, lastState);
        return outputs;
    }

    @Override
    public void refresh() {
        weights.all().forEach(WeightCopies::refresh);
    }

    @Override
    public void close() {
        primitives.close();
        weights.all().forEach(WeightCopies::close);
    }
}
