package org.dl4jamp.onednn.attention;

import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.LearnedSelfAttentionLayer;
import org.dl4jamp.onednn.memory.Views;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.KernelFailure;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Attention of learned queries to {@code [minibatch, nIn, time]}. DL4J's own layer fails in 1.0.0-M2.1: it updates its
 * shape by an operation of ND4J's without the arguments that this takes, which reads beyond the end of a list. So
 * nothing is left to DL4J's layer here, wrong shapes included.
 */
final class LearnedSelfAttentionTwin extends AttentionTwin {
    private static final long serialVersionUID = 1L;

    private static final String QUERIES = "Q";

    private final transient LearnedSelfAttentionLayer ours;
    private final transient OneDnnContext context;
    private final transient KernelCache<Long, QueryCopies> copies = new KernelCache<>(KernelCache.SHAPES);

    LearnedSelfAttentionTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context, form((LearnedSelfAttentionLayer) conf.getLayer()));
        this.ours = (LearnedSelfAttentionLayer) conf.getLayer();
        this.context = context;
    }

    private static AttentionForm form(LearnedSelfAttentionLayer layer) {
        return AttentionForm.ofLearnedQueries(
                layer.isProjectInput(),
                layer.getNHeads(),
                layer.getHeadSize(),
                layer.getNOut(),
                layer.getNIn() * layer.getNQueries());
    }

    private QueryCopies copies(long minibatch) {
        return copies.get(
                minibatch,
                () -> QueryCopies.make(context, layerId(), dataType, minibatch, ours.getNIn() * ours.getNQueries()));
    }

    /** Tells what oneDNN refuses. */
    @Override
    <T> T run(Supplier<T> pass) {
        try {
            return pass.get();
        } catch (KernelFailure e) {
            throw new AmpException(
                    e.getMessage() + ". DL4J's own LearnedSelfAttentionLayer fails, so that this input of shape "
                            + Arrays.toString(input.shape()) + " can't be computed: take a smaller minibatch, or"
                            + " fewer time steps",
                    e);
        }
    }

    @Override
    boolean fits(INDArray given) {
        return given.rank() == 3 && given.size(1) == ours.getNIn();
    }

    @Override
    void reject() {
        throw new DL4JInvalidInputException("Got input of shape " + Arrays.toString(input.shape()) + " " + layerId()
                + ": it has to be [minibatch, nIn = " + ours.getNIn() + ", time]");
    }

    @Override
    long[] outputShape() {
        return new long[] {input.size(0), ours.isProjectInput() ? ours.getNOut() : ours.getNIn(), ours.getNQueries()};
    }

    @Override
    List<INDArray> inputs(AttentionMemory working) {
        INDArray queries = working.create(dataType, 1, ours.getNQueries(), ours.getNIn());
        context.copies().copy(Views.permuted(paramTable.get(QUERIES), 0, 2, 1), queries);
        INDArray all = working.channelsLast(dataType, input.size(0), ours.getNIn(), ours.getNQueries());
        copies(input.size(0)).copy(queries, all);
        return List.of(all, input);
    }

    @Override
    INDArray inputGradient(List<INDArray> nexts, AttentionMemory working) {
        INDArray sum = working.create(DataType.FLOAT, 1, ours.getNQueries(), ours.getNIn());
        copies(input.size(0)).sum(nexts.get(0), sum);
        context.copies().copy(sum, Views.permuted(gradTable.get(QUERIES), 0, 2, 1));
        return nexts.get(1);
    }

    @Override
    public void close() {
        super.close();
        copies.close();
    }
}
