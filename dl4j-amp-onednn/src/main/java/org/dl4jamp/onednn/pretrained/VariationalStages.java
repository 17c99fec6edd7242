package org.dl4jamp.onednn.pretrained;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.layers.variational.VariationalAutoencoder;
import org.deeplearning4j.nn.params.VariationalAutoencoderParamInitializer;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The products of a variational autoencoder. The encoder ends in mean and logarithm of the variance of the code; the
 * decoder ends in the parameters of the reconstruction's distribution.
 */
record VariationalStages(List<Stage> encoder, Stage mean, Stage logVariance, List<Stage> decoder, Stage reconstruction)
        implements AutoCloseable {

    static VariationalStages of(OneDnnContext context, String layer, DataType type, VariationalAutoencoder conf) {
        IActivation function = conf.getActivationFn();
        IActivation ofCode = conf.getPzxActivationFn();
        return new VariationalStages(
                chain(context, layer, type, "e", conf.getEncoderLayerSizes().length, function),
                new Stage(context, layer, names(VariationalAutoencoderParamInitializer.PZX_MEAN_PREFIX), type, ofCode),
                new Stage(
                        context, layer, names(VariationalAutoencoderParamInitializer.PZX_LOGSTD2_PREFIX), type, ofCode),
                chain(context, layer, type, "d", conf.getDecoderLayerSizes().length, function),
                new Stage(
                        context,
                        layer,
                        names(VariationalAutoencoderParamInitializer.PXZ_PREFIX),
                        type,
                        new ActivationIdentity()));
    }

    private static List<Stage> chain(
            OneDnnContext context, String layer, DataType type, String prefix, int length, IActivation function) {
        List<Stage> stages = new ArrayList<>();
        for (int number = 0; number < length; number++) {
            stages.add(new Stage(context, layer, names(prefix + number), type, function));
        }
        return List.copyOf(stages);
    }

    private static Stage.Names names(String prefix) {
        return new Stage.Names(
                prefix + VariationalAutoencoderParamInitializer.WEIGHT_KEY_SUFFIX,
                prefix + VariationalAutoencoderParamInitializer.BIAS_KEY_SUFFIX);
    }

    /** Runs a chain forward, and returns the trace of each stage. */
    static List<Stage.Trace> forward(
            List<Stage> chain, INDArray rows, Map<String, INDArray> table, boolean training, WorkingMemory memory) {
        List<Stage.Trace> traces = new ArrayList<>();
        INDArray current = rows;
        for (Stage stage : chain) {
            traces.add(stage.forward(current, table, training, memory));
            current = last(traces).values();
        }
        return traces;
    }

    static Stage.Trace last(List<Stage.Trace> traces) {
        return traces.get(traces.size() - 1);
    }

    /** Runs a chain backward but for the gradient of its input; returns that of its first sums. */
    static INDArray backwardToFirst(
            List<Stage> chain,
            List<Stage.Trace> traces,
            INDArray epsilon,
            Map<String, INDArray> table,
            Map<String, INDArray> gradients,
            WorkingMemory memory) {
        INDArray current = epsilon;
        for (int number = chain.size() - 1; number > 0; number--) {
            current = chain.get(number).backward(traces.get(number), current, table, gradients, memory);
        }
        Stage first = chain.get(0);
        INDArray input = traces.get(0).input();
        INDArray delta = first.delta(traces.get(0), current, memory);
        first.backwardWeights(input, delta, table, first.names().in(gradients), memory);
        return delta;
    }

    Twin.Weights weights() {
        List<Twin.Weights> copies = Stream.concat(encoder.stream(), Stream.of(mean))
                .map(Stage::weights)
                .toList();
        return new Twin.Weights() {
            @Override
            public void refresh() {
                copies.forEach(Twin.Weights::refresh);
            }
        };
    }

    @Override
    public void close() {
        encoder.forEach(Stage::close);
        mean.close();
        logVariance.close();
        decoder.forEach(Stage::close);
        reconstruction.close();
    }
}
