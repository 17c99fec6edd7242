package org.dl4jamp.inspect.cost;

import java.util.List;
import java.util.OptionalLong;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.layers.CapsuleLayer;
import org.deeplearning4j.nn.conf.layers.CapsuleStrengthLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LearnedSelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.PrimaryCapsules;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;

/**
 * The formulas of attention and capsules, for one example, as DL4J composes them of SameDiff's operations. Softmax and
 * roots don't count.
 */
final class ComposedFlops {
    private ComposedFlops() {}

    /**
     * Sequences for attention.
     *
     * @param steps the number of time steps
     * @param size the number of values of each
     */
    private record Sequence(long steps, long size) {
        static Sequence of(Shape shape) {
            return new Sequence(shape.positions(), shape.channels());
        }
    }

    /** The heads that queries, keys and values are projected to. */
    private record Heads(long heads, long size, long nOut) {}

    static OptionalLong of(Layer layer, Shape in, Shape out) {
        Sequence input = Sequence.of(in);
        if (layer instanceof SelfAttentionLayer self) {
            Heads heads = new Heads(self.getNHeads(), self.getHeadSize(), self.getNOut());
            return OptionalLong.of(attention(self.isProjectInput(), heads, input, input, input));
        }
        if (layer instanceof LearnedSelfAttentionLayer learned) {
            Heads heads = new Heads(learned.getNHeads(), learned.getHeadSize(), learned.getNOut());
            Sequence queries = new Sequence(learned.getNQueries(), learned.getNIn());
            return OptionalLong.of(attention(learned.isProjectInput(), heads, queries, input, input));
        }
        if (layer instanceof RecurrentAttentionLayer recurrent) {
            return OptionalLong.of(recurrent(recurrent, input));
        }
        if (layer instanceof PrimaryCapsules capsules) {
            return OptionalLong.of(primary(capsules, out));
        }
        if (layer instanceof CapsuleLayer capsules) {
            return OptionalLong.of(routed(capsules));
        }
        // Squares and their sums.
        return layer instanceof CapsuleStrengthLayer ? OptionalLong.of(2 * in.elements()) : OptionalLong.empty();
    }

    /** Inputs are queries, keys and values. */
    static long of(AttentionVertex vertex, List<Shape> inputs) {
        Heads heads = new Heads(vertex.getNHeads(), vertex.getHeadSize(), vertex.getNOut());
        return attention(
                vertex.isProjectInput(),
                heads,
                Sequence.of(inputs.get(0)),
                Sequence.of(inputs.get(1)),
                Sequence.of(inputs.get(2)));
    }

    private static long attention(boolean projects, Heads heads, Sequence queries, Sequence keys, Sequence values) {
        long q = queries.steps();
        long k = keys.steps();
        if (!projects) {
            return weighted(q, k, keys.size(), values.size());
        }
        long width = heads.heads() * heads.size();
        long projections = 2 * width * (q * queries.size() + k * keys.size() + k * values.size());
        return projections + heads.heads() * weighted(q, k, heads.size(), heads.size()) + 2 * q * width * heads.nOut();
    }

    /** Returns the operations of one head: a score of each query for each key, its scaling, and sums of values. */
    private static long weighted(long queries, long keys, long keySize, long valueSize) {
        return queries * keys * (2 * keySize + 1 + 2 * valueSize);
    }

    /** Each time step but the first one attends to the whole input, whose projections are made again. */
    private static long recurrent(RecurrentAttentionLayer layer, Sequence input) {
        long nOut = layer.getNOut();
        long own = input.steps() * nOut * (2 * layer.getNIn() + (layer.isHasBias() ? 1 : 0));
        Heads heads = new Heads(layer.getNHeads(), layer.getHeadSize(), nOut);
        long attention = attention(layer.isProjectInput(), heads, new Sequence(1, nOut), input, input);
        return own + (input.steps() - 1) * (attention + nOut * (2 * nOut + 1));
    }

    /** A convolution, and the squashing of its outputs. */
    private static long primary(PrimaryCapsules layer, Shape out) {
        long kernel = (long) layer.getKernelSize()[0] * layer.getKernelSize()[1];
        long values = out.elements();
        return values * (2 * kernel * layer.getInputChannels() + (layer.isHasBias() ? 1 : 0)) + squash(values);
    }

    /** A prediction of each capsule by each one below, and the routing between them. */
    private static long routed(CapsuleLayer layer) {
        long values = (long) layer.getCapsules() * layer.getCapsuleDimensions();
        long predictions = layer.getInputCapsules() * values;
        long sums = 2 * predictions + (layer.isHasBias() ? values : 0) + squash(values);
        // The agreement of predictions and results, added to the logits.
        long agreement = 2 * predictions + layer.getInputCapsules() * layer.getCapsules();
        return 2 * predictions * layer.getInputCapsuleDimensions()
                + layer.getRoutings() * sums
                + (layer.getRoutings() - 1) * agreement;
    }

    /** A square, its sum and a factor for each value. */
    private static long squash(long values) {
        return 3 * values;
    }
}
