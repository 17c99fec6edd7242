package org.dl4jamp.parallel;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.parallelism.EarlyStoppingParallelTrainer;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.factory.DefaultTrainerContext;
import org.deeplearning4j.parallelism.factory.SymmetricTrainerContext;
import org.deeplearning4j.parallelism.factory.TrainerContext;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.CarriedConfig;
import org.dl4jamp.precision.AmpException;

/**
 * Mixed precision in every replica of a {@link ParallelWrapper}, from its first iteration on.
 *
 * <pre>
 * ParallelWrapper wrapper = new ParallelWrapper.Builder&lt;&gt;(net)
 *         .workers(4)
 *         .trainingMode(TrainingMode.AVERAGING)
 *         .build();
 * AmpReplicas amp = AmpReplicas.installIn(wrapper);
 * wrapper.fit(iterator);
 * amp.states().forEach(System.out::println);
 * </pre>
 *
 * <p>Replica 0 is the network that the wrapper was built with. It's enabled by {@code installIn}, unless it is already,
 * and stays so between the fits, for {@code output} and for {@link org.dl4jamp.AmpModelSerializer}; {@link #close()}
 * gives it back. DL4J makes the other replicas anew in each fit: each goes on with its own scaler state and counters,
 * and a new one begins with the scale of replica 0.
 *
 * <p>A replica that throws, such as one that gives up after too many skipped steps, ends {@code fit} with what it has
 * thrown, in all training modes. After that a wrapper with averaging can be fitted again, one that shares gradients
 * can't.
 *
 * <p>An interrupt of the thread that calls {@code fit} ends the fit between two rounds with an exception. The wrapper
 * can be fitted again in all training modes. DL4J drops data without a word then.
 *
 * <p>A fit of a network whose mixed precision is {@linkplain MixedPrecision#pause() paused} is refused. A pause that a
 * listener begins within a fit is that of its replica alone.
 *
 * <p>Several wrappers may be fitted at once. A wrapper's fits take turns, as in DL4J.
 */
public final class AmpReplicas implements AutoCloseable {
    private final ParallelWrapper wrapper;
    private final ReplicaTrainers trainers;
    private boolean closed;

    private AmpReplicas(Builder builder) {
        this.wrapper = builder.wrapper;
        this.trainers = new ReplicaTrainers(wrapper, builder.config, builder.scaleAgreed, builder.threads);
        trainers.enableSource();
        wrapper.setTrainerContext(trainers);
    }

    /**
     * Installs mixed precision in a wrapper, with the settings that its network is enabled with, or else those that its
     * configuration carries, or the defaults.
     *
     * @throws AmpException as {@link Builder#install()}
     */
    public static AmpReplicas installIn(ParallelWrapper wrapper) {
        return builder(wrapper).install();
    }

    /**
     * Installs mixed precision in a wrapper, with these settings.
     *
     * @throws AmpException as {@link Builder#install()}
     */
    public static AmpReplicas installIn(ParallelWrapper wrapper, AmpConfig config) {
        return builder(wrapper).config(config).install();
    }

    /**
     * Returns the wrapper that an early stopping trainer builds for itself, whose replicas are in FP32 otherwise:
     *
     * <pre>
     * try (AmpReplicas amp = AmpReplicas.installIn(AmpReplicas.wrapperOf(trainer))) {
     *     EarlyStoppingResult&lt;MultiLayerNetwork&gt; result = trainer.fit();
     * }
     * </pre>
     *
     * @param trainer one that has not been fitted yet
     * @throws AmpException if the trainer's training is over
     */
    public static ParallelWrapper wrapperOf(EarlyStoppingParallelTrainer<?> trainer) {
        return EarlyStoppingWrapper.of(trainer);
    }

    /**
     * Returns a builder, which has more choices than {@code installIn}.
     *
     * @param wrapper one that has been built and not fitted yet
     */
    public static Builder builder(ParallelWrapper wrapper) {
        return new Builder(wrapper);
    }

    /**
     * Returns one entry per replica, in their order. Before the first fit there is none but replica 0. May be called at
     * any time, by any thread; during a fit it's the state of that moment.
     */
    public List<ReplicaState> states() {
        return trainers.states();
    }

    /**
     * Takes mixed precision out of the wrapper: its fits are DL4J's again, and its network is as it was, only trained,
     * unless it had been enabled before.
     *
     * @throws AmpException if a fit is running; nothing has changed then
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        if (wrapper.getZoo() != null) {
            throw new AmpException(
                    "close: the wrapper is in a fit, or in one that its iterator has ended with an exception;"
                            + " close after it, or call the wrapper's shutdown() first");
        }
        trainers.source().end();
        closed = true;
        wrapper.setTrainerContext(trainers.replaced());
    }

    /** Installs {@link AmpReplicas}. Each method but the last returns the builder. */
    public static final class Builder {
        private final ParallelWrapper wrapper;
        private Optional<AmpConfig> config = Optional.empty();
        private boolean scaleAgreed;
        private int threads;

        private Builder(ParallelWrapper wrapper) {
            this.wrapper = AmpException.ifNull(
                    wrapper, "wrapper", "a ParallelWrapper, of ParallelWrapper.Builder.build() for example");
        }

        /**
         * Sets the settings of all replicas. Without this call those that the network is enabled with, or that its
         * configuration carries, or the defaults.
         */
        public Builder config(AmpConfig config) {
            this.config = Optional.of(AmpException.ifNull(
                    config, "config", "an AmpConfig, or leave it out to have that of the network or the defaults"));
            return this;
        }

        /**
         * Gives all replicas one loss scale: at each averaging, or each exchange of gradients, all go on with the
         * lowest of them. By default each has its own, which it finds for itself.
         */
        public Builder agreedScale() {
            this.scaleAgreed = true;
            return this;
        }

        /**
         * Returns how many of OpenMP's threads the work of each replica takes on a CPU. By default an equal part of
         * those that the thread has that calls {@code fit}, at least one.
         */
        public Builder threadsPerReplica(int threads) {
            if (threads < 1) {
                throw new AmpException("threadsPerReplica(" + threads
                        + "): at least 1 is needed; leave the call out to share the CPU's threads out evenly");
            }
            this.threads = threads;
            return this;
        }

        /**
         * Installs it.
         *
         * @throws AmpException if the wrapper has been fitted or stopped before, its trainers aren't DL4J's, or its
         *     network is enabled with other settings. Also if the settings have one scaler for several networks, or
         *     groups of micro-batches in the middle of which parameters would be averaged. Also for the reasons of
         *     {@link MixedPrecision#enable(Model, AmpConfig)}. Wrapper and network are then as they were
         */
        public AmpReplicas install() {
            requireNew();
            requireDl4jsTrainers();
            requireSettings();
            return new AmpReplicas(this);
        }

        private void requireNew() {
            String what = null;
            if (wrapper.getZoo() != null) {
                what = "it's in a fit";
            } else if (wrapper.getIterationsCounter().get() > 0) {
                what = "it has been fitted before, for " + wrapper.getIterationsCounter() + " iterations";
            } else if (wrapper.getExecutorService() == null) {
                what = "it has been stopped, by close(), shutdown() or a fit";
            }
            if (what != null) {
                throw new AmpException("wrapper: " + what
                        + "; install AmpReplicas in a new one, right after ParallelWrapper.Builder.build()");
            }
        }

        private void requireDl4jsTrainers() {
            TrainerContext trainers = wrapper.getTrainerContext();
            if (trainers instanceof ReplicaTrainers) {
                throw new AmpException("wrapper: AmpReplicas are installed in it already; close() those first");
            }
            Class<?> kind = trainers.getClass();
            if (kind != DefaultTrainerContext.class && kind != SymmetricTrainerContext.class) {
                throw new AmpException("wrapper: its trainers are made by a " + kind.getName()
                        + ", which is unknown to dl4j-amp; leave setTrainerContext out, and choose a TrainingMode");
            }
        }

        private void requireSettings() {
            Model model = wrapper.getModel();
            Enabling.requireNetwork(model, "the wrapper's model");
            Optional<AmpConfig> present = MixedPrecision.of(model).map(MixedPrecision::config);
            if (present.isPresent()
                    && config.isPresent()
                    && !present.get().toString().equals(config.get().toString())) {
                throw new AmpException(
                        "config: the wrapper's network is in mixed precision already, with " + present.get()
                                + ", and not with " + config.get() + "; close() that first, or leave the config out");
            }
            Optional<AmpConfig> settings = present.or(() -> config).or(() -> CarriedConfig.of(model));
            settings.filter(AmpConfig::isLossScalerShared).ifPresent(shared -> {
                throw new AmpException("config: " + shared
                        + " has one loss scaler for all networks, which replicas would call from several threads at"
                        + " once; use"
                        + " lossScaler(...), of which each has a copy, and agreedScale() if all are to have one scale");
            });
            settings.map(AmpConfig::accumulate).ifPresent(this::requireWholeGroups);
        }

        private void requireWholeGroups(int microBatches) {
            boolean averages = !(wrapper.getTrainerContext() instanceof SymmetricTrainerContext);
            int frequency = wrapper.getAveragingFrequency();
            if (averages && frequency % microBatches != 0) {
                throw new AmpException("config: accumulate(" + microBatches + ") makes a step of " + microBatches
                        + " of a replica's batches, and the wrapper averages after " + frequency
                        + ", in the middle of one; build it with averagingFrequency(" + microBatches
                        + "), or a multiple of it");
            }
        }
    }
}
