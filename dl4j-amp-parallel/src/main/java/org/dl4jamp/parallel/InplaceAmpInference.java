package org.dl4jamp.parallel;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.parallelism.InplaceParallelInference;
import org.deeplearning4j.parallelism.inference.LoadBalanceMode;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.config.AmpConfig;
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
        private final List<InferenceMode> modes = new ArrayList<>();

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

        /** Makes the replicas; DL4J calls it again for another model. */
        @Override
        protected synchronized void init() {
            close();
            queue.clear();
            super.init();
            Optional<AmpConfig> settings = AmpInference.settings(config, sourceModel);
            replicas.forEach(replica -> modes.add(Enabling.infer(replica, settings)));
        }

        synchronized void close() {
            modes.forEach(InferenceMode::close);
            modes.clear();
        }
    }
}
