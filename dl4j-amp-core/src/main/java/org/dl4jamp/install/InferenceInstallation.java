package org.dl4jamp.install;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.Engines;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.inference.DirectOutput;
import org.dl4jamp.inference.FoldedGroup;
import org.dl4jamp.inference.FoldedLayer;
import org.dl4jamp.inference.OutputPasses;
import org.dl4jamp.inference.Repetition;
import org.dl4jamp.inference.WatchedWeights;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.GroupLayer;
import org.dl4jamp.layer.RepeatedPart;
import org.dl4jamp.layer.StepGuard;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.standin.StandIn;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.Place;
import org.dl4jamp.policy.FusionGroup;
import org.dl4jamp.policy.InferencePlan;
import org.dl4jamp.policy.InferencePlanner;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.twin.Gate;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** The installation of inference mode. Updater and gradients stay as they are. */
public final class InferenceInstallation extends Installation {
    /**
     * Lets wrappers infer, and refuses to train: the weights that twins compute with are those of before.
     *
     * @param owner the inference mode that this belongs to
     */
    record Guard(Object owner, Gate gate) implements StepGuard {
        @Override
        public void trains() {
            throw new AmpException(
                    "The network is in inference mode, in which it can't be trained: parameters, updater and iteration"
                            + " are as they were."
                            + " Call close() on its InferenceMode first, which InferenceMode.of(network) finds; for"
                            + " training in mixed precision then call MixedPrecision.enable(network)");
        }

        @Override
        public boolean infersOnly() {
            return true;
        }

        @Override
        public boolean skippedLastStep() {
            return false;
        }
    }

    private final InferencePlan inference;
    private final OutputPasses passes = new OutputPasses();
    private final Map<FusionGroup, FoldedGroup> groups = new HashMap<>();
    private final List<WatchedWeights> weights = new CopyOnWriteArrayList<>();
    /** Layers and vertices that an engine may repeat, by their names. */
    private final Map<String, RepeatedPart.Taker> repeatable = new HashMap<>();

    private Optional<DirectOutput> direct = Optional.empty();

    private InferenceInstallation(Object owner, AmpNetwork network, InferencePlan inference) {
        super(network, inference.plan(), new Guard(owner, new Gate()), GradientScale.none(), "InferenceMode.close");
        this.inference = inference;
    }

    /**
     * Enters inference mode. The caller holds the network's monitor.
     *
     * @param owner returned by {@link Guard#owner()}
     * @throws AmpException if it can't be done, with the reason; the network is then as it was
     */
    public static InferenceInstallation enter(Object owner, AmpNetwork network, AmpConfig config) {
        Preconditions.check(network, false);
        Engines.Choice engine = Engines.choose(config.engine(), config.precision());
        NetworkGraph graph = network.graphOfInstances();
        InferencePlan inference = InferencePlanner.groups(
                graph, ResolvedConfig.plan(config, engine, graph), engine.engine(), network.order());
        InferenceInstallation entered = new InferenceInstallation(owner, network, inference);
        entered.install(engine.engine());
        return entered;
    }

    /** Returns the owner of a network's inference mode; empty if it is in none. */
    public static Optional<Object> ownerOf(AmpNetwork network) {
        return Optional.of(network)
                .filter(AmpNetwork::isInitialized)
                .flatMap(view -> guardOf(view, Guard.class))
                .map(Guard::owner);
    }

    @Override
    ComputeEngine.EngineSession open(ComputeEngine engine, long largestLayer) {
        return engine.inference(largestLayer);
    }

    /** Layers with parameters and output layers are wrapped in any case: they refuse to be trained. */
    @Override
    Optional<TwinLayer> wrapper(String name) {
        Layer master = masters.get(name);
        if (isUntouched(name) && !(master instanceof IOutputLayer) && master.numParams() == 0) {
            return Optional.empty();
        }
        TwinLayer wrapper = groupOf(name)
                .<TwinLayer>map(group -> new GroupLayer(
                        setup(name, group.head().equals(name) ? head(group, master) : follower(group, name)),
                        folded(group).membership(name),
                        () -> alone(name)))
                .orElseGet(() -> alone(name));
        if (wrapper.twin().compute() instanceof Twin.Repeatable twin && twin.isRepeatable()) {
            repeatable.put(name, wrapper);
        }
        return Optional.of(wrapper);
    }

    /**
     * Has the engine repeat the layers and vertices from the first one on, up to one that can't be repeated. Not where
     * nothing is gained: without groups, to look at the stack for the kind of pass takes as long as the list saves.
     */
    @Override
    void begin() {
        List<String> stretch = stretch();
        boolean hasGroups = stretch.stream().anyMatch(name -> groupOf(name).isPresent());
        // All calls of DL4J's own class compute the layers up to the last or the output layer, or keep each activation.
        boolean reachesLast = !hasGroups && network.model().getClass() == MultiLayerNetwork.class;
        if (stretch.size() < 2 || !(hasGroups || reachesLast)) {
            return;
        }
        // Those that are made later are of layers which a group computes in most passes.
        List<WatchedWeights> own = List.copyOf(weights);
        session.recorder().ifPresent(recorder -> {
            Repetition repetition = new Repetition(recorder, reachesLast, () -> WatchedWeights.version(own));
            stretch.forEach(name -> repeatable
                    .get(name)
                    .takePart(repetition.add(
                            name, Optional.ofNullable(masters.get(name)), check(name), within -> network.graph()
                                    .isReadOutside(name, within))));
            direct = direct(repetition, stretch);
        });
    }

    /** Returns how passes go without DL4J's loop; empty if they can't, or the network is of a user's class. */
    private Optional<DirectOutput> direct(Repetition repetition, List<String> stretch) {
        Class<?> type = network.model().getClass();
        boolean isOwn = type == MultiLayerNetwork.class || type == ComputationGraph.class;
        List<NetworkGraph.Node> nodes =
                network.order().stream().map(network.graph()::node).toList();
        if (!isOwn || !DirectOutput.suits(nodes, stretch)) {
            return Optional.empty();
        }
        String last = nodes.get(nodes.size() - 1).name();
        return network.layers().stream()
                .filter(place -> place.name().equals(last))
                .map(place -> StandIn.behind(place.current().get()))
                .filter(TwinLayer.class::isInstance)
                .map(wrapper -> new DirectOutput(repetition, nodes, (TwinLayer) wrapper))
                .findFirst();
    }

    /** Returns the layers and vertices that can be repeated, from the first one of the network on. */
    private List<String> stretch() {
        List<String> stretch = new ArrayList<>();
        for (String name : network.order()) {
            NetworkGraph.Node node = network.graph().node(name);
            if (node.networkInput()) {
                continue;
            }
            boolean goesOn = repeatable.containsKey(name)
                    && (stretch.isEmpty() || DirectOutput.keepsNumbers(node.preProcessor()));
            if (!goesOn) {
                break;
            }
            stretch.add(name);
        }
        return stretch;
    }

    private Optional<FusionGroup> groupOf(String name) {
        return inference.ledBy(name).or(() -> inference.followedBy(name));
    }

    private TwinLayer alone(String name) {
        // Members of a group are made in the middle of a pass.
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            Integer place = inference.places().get(name);
            Twin twin = place == null ? twin(name) : session.placed(request(name, masters.get(name)), place);
            boolean converts = twin.weights() != Twin.Weights.MASTER;
            return setup(name, converts ? twin.with(watched(twin, () -> {}, List.of(masters.get(name)))) : twin)
                    .wrapper();
        }
    }

    private FoldedGroup folded(FusionGroup group) {
        return groups.computeIfAbsent(
                group, made -> new FoldedGroup(made, passes.of(network.order().indexOf(made.head())), masters));
    }

    private Twin follower(FusionGroup group, String name) {
        DataType type = plan.row(name).output().dataType().orElseThrow();
        return folded(group).follower(masters.get(name), session, type);
    }

    private Twin head(FusionGroup group, Layer master) {
        Layer normalization = group.normalization().map(masters::get).orElse(null);
        IActivation function = group.function()
                .map(name -> ((ActivationLayer) masters.get(name).conf().getLayer()).getActivationFn())
                .orElse(null);
        FoldedLayer folded = new FoldedLayer(
                master, normalization, function, plan.row(group.head()).precision());
        Twin twin = session.head(request(group.head(), folded.layer()), group);
        List<Layer> of = normalization == null ? List.of(master) : List.of(master, normalization);
        return twin.with(folded(group).ledBy(folded, watched(twin, folded::fold, of)));
    }

    private WatchedWeights watched(Twin twin, Runnable preparation, List<Layer> of) {
        WatchedWeights watched = new WatchedWeights(twin.weights(), preparation, of);
        weights.add(watched);
        return watched;
    }

    @Override
    Optional<? extends GraphVertex> vertex(Place<GraphVertex> place) {
        if (!isByEngine(place.name())) {
            return Optional.empty();
        }
        VertexRequest request = request(place);
        GraphVertex vertex = groupOf(place.name())
                .map(group -> folded(group).sum(request, session))
                .orElseGet(() -> session.vertex(request));
        if (vertex instanceof RepeatedPart.Taker taker) {
            repeatable.put(place.name(), taker);
        }
        return Optional.of(vertex);
    }

    /**
     * Returns the network's output for features, outside of workspaces. Empty if DL4J has to go through the layers this
     * time.
     */
    public Optional<INDArray> output(INDArray features) {
        return direct.flatMap(passes -> passes.of(features));
    }

    /** Has the weights of all layers taken over before they're used the next time. */
    public void markStale() {
        weights.forEach(WatchedWeights::masterSet);
    }
}
