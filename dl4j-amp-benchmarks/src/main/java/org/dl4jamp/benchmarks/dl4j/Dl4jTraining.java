package org.dl4jamp.benchmarks.dl4j;

import java.util.Optional;
import java.util.OptionalLong;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.benchmarks.blueprint.Loss;
import org.dl4jamp.benchmarks.kernels.OneDnnWorkload;
import org.dl4jamp.benchmarks.side.Training;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.listeners.LayerStatisticsListener;
import org.dl4jamp.listeners.SkipForensics;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/** A DL4J network trained as DL4J's users do, with {@code fit}, plain or with mixed precision enabled. */
public final class Dl4jTraining implements Training, OneDnnWorkload {
    /** DL4J's name of the workspace that keeps all layers' activations until the backward pass. */
    private static final String ACTIVATIONS = "WS_ALL_LAYERS_ACT";

    private final NeuralNetwork network;
    private final DataSet batch;
    private final Loss loss;
    private final MixedPrecision amp;

    private Dl4jTraining(NeuralNetwork network, DataSet batch, Loss loss, MixedPrecision amp) {
        this.network = network;
        this.batch = batch;
        this.loss = loss;
        this.amp = amp;
    }

    /** Returns the workload in stock DL4J. */
    public static Dl4jTraining stock(NeuralNetwork network, DataSet batch, Loss loss) {
        return new Dl4jTraining(network, batch, loss, null);
    }

    /** Returns the same network with this project's CPU engine. */
    public static Dl4jTraining amp(NeuralNetwork network, DataSet batch, Loss loss, Precision precision) {
        return amp(
                network,
                batch,
                loss,
                AmpConfig.builder()
                        .precision(precision)
                        .engine(EngineChoice.MEASURED)
                        .build());
    }

    /** Returns the same network with listeners that look for skipped steps and, every ten steps, at each layer. */
    public static Dl4jTraining watched(NeuralNetwork network, DataSet batch, Loss loss, Precision precision) {
        Dl4jTraining training = amp(network, batch, loss, precision);
        ((Model) network).setListeners(new SkipForensics(5, 20), new LayerStatisticsListener(10));
        return training;
    }

    /** Returns the same network with what this project chooses for it. */
    public static Dl4jTraining auto(NeuralNetwork network, DataSet batch, Loss loss) {
        return amp(network, batch, loss, AmpConfig.defaults());
    }

    private static Dl4jTraining amp(NeuralNetwork network, DataSet batch, Loss loss, AmpConfig config) {
        MixedPrecision enabled = network instanceof ComputationGraph graph
                ? MixedPrecision.enable(graph, config)
                : MixedPrecision.enable((MultiLayerNetwork) network, config);
        return new Dl4jTraining(network, batch, loss, enabled);
    }

    @Override
    public double step() {
        network.fit(batch);
        return loss.mean(((Model) network).score());
    }

    @Override
    public Optional<String> chosen() {
        return Optional.ofNullable(amp)
                .filter(enabled -> enabled.config().precision() == Precision.AUTO)
                .map(enabled -> EngineChoice.of(enabled.plan(), enabled.engine()));
    }

    @Override
    public OptionalLong activationBytes() {
        MemoryWorkspace workspace = Nd4j.getWorkspaceManager().getWorkspaceForCurrentThread(ACTIVATIONS);
        return OptionalLong.of(workspace.getCurrentSize());
    }

    @Override
    public void close() {
        if (amp != null) {
            amp.close();
        }
        ((Model) network).close();
    }
}
