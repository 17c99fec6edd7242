package org.dl4jamp.inspect.compare;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.inspect.compare.numbers.Difference;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.dataset.MultiDataSet;

/**
 * A network's numbers in mixed precision beside those of stock DL4J in FP32, on the same batches.
 *
 * <pre>
 * Comparison comparison = Comparison.run(net, AmpConfig.defaults(), batches);
 * comparison.verdict().sentences().forEach(System.out::println);
 * </pre>
 *
 * <p>Beside both there is stock DL4J in FP32 with weights rounded to the half precision. Where that alone makes as
 * large an error, the network is ill-conditioned, and the policy isn't to blame.
 *
 * @param network its class and its number of parameters
 * @param precision the precision of the layers in lower precision
 * @param engine the engine's name
 * @param batches how many batches were run
 * @param examples how many examples there are in all batches
 * @param lossInFp32 the mean loss of the batches in stock DL4J in FP32
 * @param lossOfRounded the same with rounded weights; empty if no layer computes in half precision
 * @param lossInMixed the mean loss in mixed precision
 * @param firstScale the loss scale before the first batch; 1 if the loss isn't scaled
 * @param lastScale the loss scale after the last batch, as training has found it
 * @param skips the reasons of steps that training would have skipped
 * @param gradients all gradients of the network in mixed precision
 * @param gradientsOfRounded the same with rounded weights; empty if no layer computes in half precision
 * @param layers layers and vertices in the order of the forward pass
 * @param verdict the conclusion
 */
public record Comparison(
        String network,
        String precision,
        String engine,
        int batches,
        long examples,
        double lossInFp32,
        Optional<Double> lossOfRounded,
        double lossInMixed,
        double firstScale,
        double lastScale,
        List<String> skips,
        Difference gradients,
        Optional<Difference> gradientsOfRounded,
        List<LayerComparison> layers,
        Verdict verdict) {
    /**
     * Compares. The network itself stays as it is: a copy computes, without dropout and weight noise, and with
     * gradients through all time steps. It takes memory for the activations of all batches.
     *
     * @param network a MultiLayerNetwork or ComputationGraph with FLOAT parameters
     * @param config the policy; its loss scaler begins as it does in training
     * @param batches features and labels without masks, at least one batch
     * @throws AmpException if mixed precision can't be enabled with these settings, or there is no batch
     */
    public static Comparison run(Model network, AmpConfig config, List<MultiDataSet> batches) {
        AmpException.ifNull(config, "config", "an AmpConfig, such as AmpConfig.defaults()");
        if (AmpException.ifNull(batches, "batches", "a list of MultiDataSet").isEmpty()) {
            throw new AmpException("batches: there are none; give one or more to compare");
        }
        ComparedNetwork copy = ComparedNetwork.copyOf(network);
        Batches all = new Batches(copy, batches);
        Measurement mixed = all.measure(config);
        Verdict verdict = new Judge(copy.graph(), all, config).judge(mixed);
        return new Comparison(
                network.getClass().getSimpleName() + " of " + network.numParams() + " parameters",
                mixed.plan().precision().toString(),
                mixed.engine(),
                batches.size(),
                batches.stream()
                        .mapToLong(batch -> batch.getFeatures(0).size(0))
                        .sum(),
                all.loss(),
                all.roundedLoss(),
                mixed.loss(),
                mixed.firstScale(),
                mixed.lastScale(),
                mixed.skips(),
                mixed.gradients(),
                all.roundedGradients(),
                mixed.layers(),
                verdict);
    }
}
