package org.dl4jamp.examples.digits;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.examples.cli.PrecisionOptions;
import org.dl4jamp.examples.cli.Progress;
import org.dl4jamp.parallel.AmpReplicas;
import org.dl4jamp.parallel.ReplicaState;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.adapter.SingletonDataSetIterator;

/**
 * Trains the residual graph with several replicas, on the same batches in the same order, and counts the test images
 * that it recognizes.
 */
final class ParallelTraining {
    private static final long SPLIT_SEED = 1;
    private static final int TEST_IMAGES = 450;
    private static final int BATCH = 16;
    private static final int BATCH_FOR_SPEED = 64;

    private final Digits train;
    private final DataSet test;
    private final TrainingMode mode;
    private final int threads;
    private final Supplier<ComputationGraph> networks;

    /** @param threads of OpenMP for each replica in mixed precision; 0 for an equal part of all */
    ParallelTraining(Digits digits, TrainingMode mode, int threads) {
        this(digits, mode, threads, ParallelTraining::network);
    }

    /**
     * @param threads of OpenMP for each replica in mixed precision; 0 for an equal part of all
     * @param networks makes the networks to train
     */
    ParallelTraining(Digits digits, TrainingMode mode, int threads, Supplier<ComputationGraph> networks) {
        Digits shuffled = digits.shuffled(SPLIT_SEED);
        int trainImages = digits.size() - TEST_IMAGES;
        this.train = shuffled.range(0, trainImages);
        this.test = shuffled.range(trainImages, digits.size()).toDataSet();
        this.mode = mode;
        this.threads = threads;
        this.networks = networks;
    }

    /** The result of one training. */
    record Result(ParallelFigures.Side figures, List<ReplicaState> replicas) {}

    /**
     * Trains for some epochs. Each is a fit, but with shared gradients all of them are one. At the end of a fit DL4J
     * drops what was below the threshold, and the moments of the updaters.
     *
     * @param choice precision and engine; empty for DL4J's FP32
     * @param run begins another order of the images
     */
    Result train(int workers, int epochs, Optional<PrecisionOptions.Choice> choice, int run, String task) {
        ComputationGraph net = networks.get();
        try (Trainer trainer = trainer(net, workers, choice);
                Progress progress = Progress.of(task, epochs)) {
            IntFunction<List<DataSet>> batches =
                    epoch -> train.shuffled(1000L * run + epoch).batches(BATCH);
            double seconds = 0;
            if (mode == TrainingMode.SHARED_GRADIENTS) {
                seconds += trainer.secondsToFit(IntStream.range(0, epochs)
                        .mapToObj(batches)
                        .flatMap(epoch -> epoch.stream().onClose(progress::step))
                        .iterator());
            } else {
                for (int epoch = 0; epoch < epochs; epoch++) {
                    seconds += trainer.secondsToFit(batches.apply(epoch).iterator());
                    progress.step();
                }
            }
            double accuracy =
                    net.doEvaluation(new SingletonDataSetIterator(test), new Evaluation(Digits.CLASSES))[0].accuracy();
            return new Result(new ParallelFigures.Side(accuracy, net.score(test), seconds), trainer.states());
        } finally {
            net.close();
        }
    }

    /** Returns images per second, measured after one fit that isn't. */
    double throughput(int workers, Optional<PrecisionOptions.Choice> choice, int epochs) {
        ComputationGraph net = networks.get();
        try (Trainer trainer = trainer(net, workers, choice)) {
            trainer.secondsToFit(train.batches(BATCH_FOR_SPEED).iterator());
            List<DataSet> batches = new ArrayList<>();
            for (int epoch = 0; epoch < epochs; epoch++) {
                batches.addAll(train.shuffled(epoch).batches(BATCH_FOR_SPEED));
            }
            return (double) epochs * train.size() / trainer.secondsToFit(batches.iterator());
        } finally {
            net.close();
        }
    }

    static ComputationGraph network() {
        ComputationGraph net = new ComputationGraph(DigitsNetworks.residual());
        net.init();
        return net;
    }

    private Trainer trainer(ComputationGraph net, int workers, Optional<PrecisionOptions.Choice> choice) {
        if (workers == 1) {
            Optional<MixedPrecision> amp = choice.map(one -> PrecisionOptions.enable(net, one.config()));
            return new Trainer(
                    batches -> batches.forEachRemaining(net::fit),
                    List::of,
                    () -> amp.ifPresent(MixedPrecision::close));
        }
        ParallelWrapper wrapper = new ParallelWrapper.Builder<>(net)
                .workers(workers)
                .averagingFrequency(1)
                .prefetchBuffer(workers)
                .trainingMode(mode)
                .build();
        Optional<AmpReplicas> amp = choice.map(one -> install(wrapper, one));
        return new Trainer(
                batches -> wrapper.fit(new ExistingDataSetIterator(batches)),
                () -> amp.map(AmpReplicas::states).orElse(List.of()),
                () -> amp.ifPresent(AmpReplicas::close));
    }

    private AmpReplicas install(ParallelWrapper wrapper, PrecisionOptions.Choice choice) {
        AmpReplicas.Builder builder = AmpReplicas.builder(wrapper).config(choice.config());
        return threads > 0 ? builder.threadsPerReplica(threads).install() : builder.install();
    }

    /** Trains one network in one way. */
    private record Trainer(Consumer<Iterator<DataSet>> fit, Supplier<List<ReplicaState>> replicas, Runnable end)
            implements AutoCloseable {
        double secondsToFit(Iterator<DataSet> batches) {
            long start = System.nanoTime();
            fit.accept(batches);
            return (System.nanoTime() - start) / 1e9;
        }

        List<ReplicaState> states() {
            return replicas.get();
        }

        @Override
        public void close() {
            end.run();
        }
    }
}
