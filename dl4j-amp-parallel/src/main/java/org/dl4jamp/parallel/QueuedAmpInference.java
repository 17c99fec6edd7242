package org.dl4jamp.parallel;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.parallelism.ParallelInference;
import org.deeplearning4j.parallelism.inference.InferenceMode;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * DL4J's inference in threads of its own, in mixed precision. DL4J makes the replicas of all workers but the first in
 * their threads, where they are out of reach; the first one's is the given network itself. So each replica here has an
 * inference of DL4J's to itself, with one worker, and a request goes to the one with the fewest.
 */
final class QueuedAmpInference extends ParallelInference {
    private final Optional<AmpConfig> config;
    private final ReadWriteLock lock = new ReentrantReadWriteLock();
    private List<Lane> lanes;

    QueuedAmpInference(
            Model model, Optional<AmpConfig> config, int workers, InferenceMode mode, int batchLimit, int queueLimit) {
        this.config = config;
        this.model = model;
        this.workers = workers;
        this.inferenceMode = mode;
        this.batchLimit = batchLimit;
        this.queueLimit = queueLimit;
        this.lanes = lanesOf(model);
    }

    /** A replica and the requests that wait for it. */
    private record Lane(ParallelInference inference, org.dl4jamp.InferenceMode replica, AtomicInteger requests) {
        void close() {
            inference.shutdown();
            replica.close();
        }
    }

    private List<Lane> lanesOf(Model source) {
        Optional<AmpConfig> settings = AmpInference.settings(config, source);
        List<Lane> made = new ArrayList<>();
        try {
            for (int i = 0; i < workers; i++) {
                Model copy = copy(source);
                org.dl4jamp.InferenceMode replica = Enabling.infer(copy, settings);
                made.add(new Lane(inferenceBy(copy), replica, new AtomicInteger()));
            }
            return made;
        } catch (RuntimeException e) {
            made.forEach(Lane::close);
            throw e;
        }
    }

    private ParallelInference inferenceBy(Model replica) {
        return new ParallelInference.Builder(replica)
                .workers(1)
                .inferenceMode(inferenceMode)
                .batchLimit(batchLimit)
                .queueLimit(queueLimit)
                .build();
    }

    private static Model copy(Model source) {
        INDArray parameters = source.params().dup();
        if (source instanceof ComputationGraph graph) {
            ComputationGraph copy = new ComputationGraph(ComputationGraphConfiguration.fromJson(
                    graph.getConfiguration().toJson()));
            copy.init(parameters, false);
            return copy;
        }
        MultiLayerNetwork copy = new MultiLayerNetwork(MultiLayerConfiguration.fromJson(
                ((MultiLayerNetwork) source).getLayerWiseConfigurations().toJson()));
        copy.init(parameters, false);
        return copy;
    }

    @Override
    public INDArray[] output(INDArray[] input, INDArray[] inputMasks) {
        lock.readLock().lock();
        try {
            Lane lane = lanes.stream()
                    .min(Comparator.comparingInt(one -> one.requests().get()))
                    .orElseThrow(
                            () -> new AmpException("output: this inference has been shut down; build another one"));
            lane.requests().incrementAndGet();
            try {
                return lane.inference().output(input, inputMasks);
            } finally {
                lane.requests().decrementAndGet();
            }
        } finally {
            lock.readLock().unlock();
        }
    }

    /** Goes on with the parameters of another model of the same kind, when the requests of now are answered. */
    @Override
    public void updateModel(Model other) {
        AmpException.ifNull(other, "model", "an initialized MultiLayerNetwork or ComputationGraph");
        replaceLanes(lanesOf(other));
    }

    @Override
    public synchronized void shutdown() {
        replaceLanes(List.of());
    }

    private void replaceLanes(List<Lane> others) {
        lock.writeLock().lock();
        try {
            lanes.forEach(Lane::close);
            lanes = others;
        } finally {
            lock.writeLock().unlock();
        }
    }
}
