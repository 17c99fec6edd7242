package org.dl4jamp.parallel;

import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.parallelism.ParallelInference;
import org.deeplearning4j.parallelism.inference.InferenceMode;
import org.deeplearning4j.parallelism.inference.LoadBalanceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Makes a {@link ParallelInference} whose replicas are in {@linkplain MixedPrecision#inference inference mode}, in
 * mixed precision; those of DL4J's own are in FP32.
 *
 * <pre>
 * ParallelInference inference = AmpInference.builder(net).workers(4).inferenceMode(InferenceMode.INPLACE).build();
 * INDArray output = inference.output(features);                // from any thread
 * inference.shutdown();
 * </pre>
 *
 * <p>The network itself isn't one of the replicas, and stays as it is. With {@link InferenceMode#INPLACE} they compute
 * with its very parameters, and notice when these change as {@link org.dl4jamp.InferenceMode} does; requests of one
 * array without a mask go by {@link org.dl4jamp.InferenceMode#output}. In the other modes they compute with copies of
 * the parameters, until {@link ParallelInference#updateModel}.
 */
public final class AmpInference {
    private AmpInference() {}

    /**
     * Begins to build.
     *
     * @param model an initialized MultiLayerNetwork or ComputationGraph
     */
    public static Builder builder(Model model) {
        return new Builder(model);
    }

    /**
     * Returns what the replicas are in: the settings that were given, else those of the network, else those that its
     * configuration carries, or the defaults.
     */
    static Optional<AmpConfig> settings(Optional<AmpConfig> given, Model model) {
        return given.or(() -> MixedPrecision.of(model).map(MixedPrecision::config))
                .or(() -> org.dl4jamp.InferenceMode.of(model).map(org.dl4jamp.InferenceMode::config));
    }

    /**
     * Builds the inference; names, meanings and defaults are those of {@link ParallelInference.Builder}. Each method
     * but the last returns the builder.
     */
    public static final class Builder {
        private final Model model;
        private Optional<AmpConfig> config = Optional.empty();
        private int workers = ParallelInference.DEFAULT_NUM_WORKERS;
        private int batchLimit = ParallelInference.DEFAULT_BATCH_LIMIT;
        private int queueLimit = ParallelInference.DEFAULT_QUEUE_LIMIT;
        private InferenceMode mode = ParallelInference.DEFAULT_INFERENCE_MODE;
        private LoadBalanceMode loadBalanceMode = LoadBalanceMode.FIFO;

        private Builder(Model model) {
            this.model = AmpException.ifNull(model, "model", "an initialized MultiLayerNetwork or ComputationGraph");
            Enabling.requireNetwork(model, "model");
        }

        /**
         * Sets the settings of all replicas, of which those for training have no meaning. Without this call those that
         * the network is enabled with, or that its configuration carries, or the defaults.
         */
        public Builder config(AmpConfig config) {
            this.config = Optional.of(AmpException.ifNull(
                    config, "config", "an AmpConfig, or leave it out to have that of the network or the defaults"));
            return this;
        }

        /** Returns how many replicas there are; with {@link InferenceMode#INPLACE} on each device. */
        public Builder workers(int workers) {
            this.workers = atLeastOne("workers", workers);
            return this;
        }

        /** Returns how many requests may become one batch, with {@link InferenceMode#BATCHED}. */
        public Builder batchLimit(int batchLimit) {
            this.batchLimit = atLeastOne("batchLimit", batchLimit);
            return this;
        }

        /** Returns how many requests may wait for each replica, in the modes with threads of their own. */
        public Builder queueLimit(int queueLimit) {
            this.queueLimit = atLeastOne("queueLimit", queueLimit);
            return this;
        }

        /** Sets the thread in which a request is computed, and whether requests become batches. */
        public Builder inferenceMode(InferenceMode mode) {
            this.mode = AmpException.ifNull(mode, "inferenceMode", "SEQUENTIAL, BATCHED or INPLACE");
            return this;
        }

        /** Sets which replica takes a request, with {@link InferenceMode#INPLACE}. */
        public Builder loadBalanceMode(LoadBalanceMode loadBalanceMode) {
            this.loadBalanceMode = AmpException.ifNull(loadBalanceMode, "loadBalanceMode", "ROUND_ROBIN or FIFO");
            return this;
        }

        private static int atLeastOne(String argument, int value) {
            if (value < 1) {
                throw new AmpException(argument + "(" + value + "): at least 1 is needed");
            }
            return value;
        }

        /**
         * Builds it.
         *
         * @throws AmpException for the reasons of {@link MixedPrecision#inference}, or if there are several devices and
         *     the mode isn't {@link InferenceMode#INPLACE}
         */
        public ParallelInference build() {
            if (mode == InferenceMode.INPLACE) {
                return new InplaceAmpInference(model, config, workers, loadBalanceMode);
            }
            int devices = Nd4j.getAffinityManager().getNumberOfDevices();
            if (devices > 1) {
                throw new AmpException("inferenceMode(" + mode
                        + "): DL4J gives the replicas of this mode no network but its own on all but one of " + devices
                        + " devices; use InferenceMode.INPLACE");
            }
            return new QueuedAmpInference(model, config, workers, mode, batchLimit, queueLimit);
        }
    }
}
