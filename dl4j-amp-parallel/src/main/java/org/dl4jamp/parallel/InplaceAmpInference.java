package org.dl4jamp.parallel;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.parallelism.InplaceParallelInference;
import org.deeplearning4j.parallelism.inference.LoadBalanceMode;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * DL4J's inference in the caller's thread, over replicas that share the network's parameters, in inference mode in
 * mixed precision.
 */
final class InplaceAmpInference extends InplaceParallelInference {
    InplaceAmpInference(Model model, Optional<AmpConfig> config, int workers, LoadBalanceMode loadBalanceMode) {
        this.model = model;
        this.workers = workers;
        this.loadBalanceMode = loadBalanceMode;
        Selector holdersByDevice = new Selector();
        selector = holdersByDevice;
        int current = Nd4j.getAffinityManager().getDeviceForCurrentThread();
        for (int device = 0; device < Nd4j.getAffinityManager().getNumberOfDevices(); device++) {
            Holder holder = new Holder(model, config, workers, loadBalanceMode, device, device == current);
            holder.init();
            holders.add(holder);
            holdersByDevice.add(device, holder);
        }
    }

    @Override
    public synchronized void shutdown() {
        holders.forEach(holder -> ((Holder) holder).close());
        super.shutdown();
    }

    private static final class Selector extends ModelSelector {
        void add(int device, Holder holder) {
            addModelHolder(device, holder);
        }
    }

    /** The replicas of one device. */
    private static final class Holder extends ModelHolder {
        private final Optional<AmpConfig> config;
        /** The modes of replicas, by the very objects: networks with the same numbers are equal. */
        private final IdentityHashMap<Model, InferenceMode> modes = new IdentityHashMap<>();
        /** The model of these replicas. */
        private Model source;

        Holder(
                Model model,
                Optional<AmpConfig> config,
                int workers,
                LoadBalanceMode loadBalanceMode,
                int device,
                boolean root) {
            this.config = config;
            this.sourceModel = model;
            this.workers = workers;
            this.replicas = new ArrayList<>();
            this.rootDevice = root;
            this.loadBalanceMode = loadBalanceMode;
            this.targetDeviceId = device;
        }

        /** Makes the replicas; DL4J calls it again for another model. If it can't be done, those of before go on. */
        @Override
        protected synchronized void init() {
            List<Model> before = List.copyOf(replicas);
            List<Model> waiting = List.copyOf(queue);
            IdentityHashMap<Model, InferenceMode> made = new IdentityHashMap<>();
            try {
                queue.clear();
                super.init();
                Optional<AmpConfig> settings = AmpInference.settings(config, sourceModel);
                replicas.forEach(replica -> made.put(replica, Enabling.infer(replica, settings)));
            } catch (RuntimeException e) {
                made.values().forEach(InferenceMode::close);
                restore(before, waiting);
                throw e;
            }
            close();
            modes.putAll(made);
            source = sourceModel;
        }

        private void restore(List<Model> before, List<Model> waiting) {
            replicas.clear();
            replicas.addAll(before);
            queue.clear();
            queue.addAll(waiting);
            sourceModel = source;
            isCG = source instanceof ComputationGraph;
            isMLN = source instanceof MultiLayerNetwork;
        }

        /** Computes as DL4J does, but by {@link InferenceMode#output} where that gives the same. */
        @Override
        protected INDArray[] output(INDArray[] input, INDArray[] inputMasks) {
            modelLock.readLock().lock();
            try {
                return isOfOneArray(input, inputMasks)
                        ? new INDArray[] {output(input[0])}
                        : super.output(input, inputMasks);
            } finally {
                modelLock.readLock().unlock();
            }
        }

        private boolean isOfOneArray(INDArray[] input, INDArray[] inputMasks) {
            return !modes.isEmpty() && input.length == 1 && input[0] != null && inputMasks == null && hasOneOfEach();
        }

        /** Returns whether the network has one input and one output. */
        private boolean hasOneOfEach() {
            return !(sourceModel instanceof ComputationGraph graph)
                    || (graph.getNumInputArrays() == 1 && graph.getNumOutputArrays() == 1);
        }

        private INDArray output(INDArray features) {
            Model replica = acquire();
            try {
                return modes.get(replica).output(features);
            } finally {
                releaseModel(replica);
            }
        }

        private Model acquire() {
            try {
                return acquireModel();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AmpException("output: the thread was interrupted while it waited for a replica", e);
            }
        }

        /**
         * Takes a replica back, unless another model has taken its network's place meanwhile: DL4J holds no lock while
         * an adapter has one, and would let it answer requests with the parameters of before.
         *
         * <p>Doesn't wait behind a thread that waits for requests to end: one of them may wait for this replica.
         */
        @Override
        protected void releaseModel(Model model) {
            if (!modelLock.readLock().tryLock()) {
                modelLock.readLock().lock();
            }
            try {
                if (modes.isEmpty() || modes.containsKey(model)) {
                    super.releaseModel(model);
                }
            } finally {
                modelLock.readLock().unlock();
            }
        }

        /** Leaves the modes when the requests of now are answered. */
        void close() {
            modelLock.writeLock().lock();
            try {
                modes.values().forEach(InferenceMode::close);
                modes.clear();
            } finally {
                modelLock.writeLock().unlock();
            }
        }
    }
}
