package org.dl4jamp.onednn;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.dropout.IDropout;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.PassRecorder;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.TwinRequest;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.attention.AttentionLayers;
import org.dl4jamp.onednn.embedding.EmbeddingLayers;
import org.dl4jamp.onednn.host.HostStepKernels;
import org.dl4jamp.onednn.host.Magnitudes;
import org.dl4jamp.onednn.linear.ProductTwin;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Resources;
import org.dl4jamp.onednn.memory.ResultPlace;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.OneDnnLibrary;
import org.dl4jamp.onednn.twin.FusedRelu;
import org.dl4jamp.onednn.twin.GroupSum;
import org.dl4jamp.onednn.twin.LayerKernels;
import org.dl4jamp.onednn.twin.OneDnnCasting;
import org.dl4jamp.onednn.twin.OneDnnTwin;
import org.dl4jamp.onednn.user.UserKernels;
import org.dl4jamp.onednn.user.UserTwin;
import org.dl4jamp.onednn.vertex.VertexCoverage;
import org.dl4jamp.onednn.vertex.VertexTwin;
import org.dl4jamp.policy.FusionGroup;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.twin.Casting;
import org.dl4jamp.twin.LayerContext;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the twins of one network. A layer that takes or returns BFLOAT16 and has no kernel gets the portable engine's
 * twin, between oneDNN's casts.
 */
final class OneDnnSession implements ComputeEngine.EngineSession {
    private static final Logger LOG = LoggerFactory.getLogger(OneDnnSession.class);

    /** Products of larger numbers, and their sums, are soon beyond FP32's range: infinite, and NaN after that. */
    private static final double LARGE = 1e18;

    private final OneDnnContext context;
    private final Casting casting;
    private final List<AutoCloseable> twins = new ArrayList<>();
    private final Map<PrecisionPlan.Fusion, FusedRelu> fusedRelus = new HashMap<>();
    private final Map<FusionGroup, GroupSum> sums = new HashMap<>();
    private final ComputeEngine.EngineSession portable;
    private final boolean masterWeights;
    private final UserKernels users;

    /** @param context the shared state of the twins, which is closed with the session */
    OneDnnSession(
            ComputeEngine.EngineSession portable, boolean masterWeights, OneDnnContext context, UserKernels users) {
        this.users = users;
        this.portable = portable;
        this.masterWeights = masterWeights;
        this.context = context;
        this.casting = new OneDnnCasting(context);
    }

    static OneDnnSession ofTraining(ComputeEngine.EngineSession portable, boolean masterWeights, UserKernels users) {
        return new OneDnnSession(portable, masterWeights, new OneDnnContext(), users);
    }

    /** Makes a session with twins that copy weights only once. */
    static OneDnnSession ofInference(ComputeEngine.EngineSession portable, UserKernels users) {
        return new OneDnnSession(portable, true, new OneDnnContext(true), users);
    }

    @Override
    public Twin twin(TwinRequest request) {
        note(request.context());
        Layer layer = request.master().conf().getLayer();
        // The configuration of DL4J's wrappers is that of the layer that they wrap.
        boolean wrapper = request.master() instanceof BaseWrapperLayer;
        if (wrapper || Coverage.without(layer, request.precision(), users).isPresent()) {
            Twin twin = portable.twin(request);
            boolean takesWholeNumbers = twin.compute() == request.master() || EmbeddingLayers.isEmbedding(layer);
            return twin.with(takesWholeNumbers ? new Casting.OfRowNumbers(casting) : casting);
        }
        LayerKernels<?> kernels = Coverage.of(layer, users).orElseThrow();
        DataType type = type(request, kernels.arrays());
        if (type == DataType.BFLOAT16 && twins.isEmpty() && OneDnnLibrary.bfloat16() != OneDnnLibrary.Bfloat16.NATIVE) {
            LOG.warn("This CPU has no instructions for products of BFLOAT16: it halves the memory of activations, in"
                    + " up to three times the time of FLOAT, which AUTO would take");
        }
        NeuralNetConfiguration conf = request.master().conf().clone();
        conf.setCacheMode(CacheMode.NONE);
        // The same object, not the configuration's copy: it may count, or be changed while training runs.
        IDropout dropout = kernels.dropoutOf(layer, context);
        conf.getLayer().setIDropout(null);
        shareFunction(layer, conf.getLayer());
        boolean rounds = type == DataType.BFLOAT16;
        org.deeplearning4j.nn.api.Layer compute = kernels.maker().make(conf, type, context);
        OneDnnTwin twin = (OneDnnTwin) compute;
        twins.add(twin);
        if (twin instanceof UserTwin user) {
            user.requireOrdinary(request.master(), request.name());
        }
        prepare(request, compute, twin);
        return new Twin(
                compute,
                type,
                rounds,
                Twin.Retention.INPUT,
                dropout,
                context.infers() ? twin.keptWeights() : weights(request),
                casting(layer, kernels),
                kernels.arrays().returnsFloat() ? DataType.FLOAT : type);
    }

    /** Gives a twin the same function object, which has the slopes that RReLU drew in the forward pass. */
    private static void shareFunction(Layer from, Layer to) {
        if (from instanceof BaseLayer own) {
            ((BaseLayer) to).setActivationFn(own.getActivationFn());
        } else if (from instanceof ActivationLayer only) {
            ((ActivationLayer) to).setActivationFn(only.getActivationFn());
        }
    }

    private Casting casting(Layer layer, LayerKernels<?> kernels) {
        Casting own = new OneDnnCasting(context, kernels.channelsOf(layer));
        return EmbeddingLayers.isEmbedding(layer) ? new Casting.OfRowNumbers(own) : own;
    }

    @Override
    public Twin head(TwinRequest request, FusionGroup group) {
        Twin twin = twin(request);
        if (twin.compute() instanceof ProductTwin<?> head) {
            head.lead(group.sum().map(sum -> sum(request, group)).orElse(null));
            group.place()
                    .map(place -> new ResultPlace(context.activationMemory(), place, false))
                    .ifPresent(head::placeOutput);
        }
        return twin;
    }

    @Override
    public Twin placed(TwinRequest request, int number) {
        Twin twin = twin(request);
        if (twin.compute() instanceof OneDnnTwin own && twin.casting() instanceof OneDnnCasting cast) {
            // Channels that come last for the layer's neighbours, too, are in their order already.
            boolean reordered = request.context().readInUsualOrder() && cast.channels() == ChannelAxis.SECOND;
            ResultPlace place = new ResultPlace(context.activationMemory(), number, reordered);
            own.placeOutput(place);
            return twin.with(cast.placing(place));
        }
        return twin;
    }

    private GroupSum sum(TwinRequest request, FusionGroup group) {
        IActivation activation = ((BaseLayer) request.master().conf().getLayer()).getActivationFn();
        return sums.computeIfAbsent(
                group, key -> new GroupSum(activation, group.sum().orElseThrow().endsSummand()));
    }

    @Override
    public GraphVertex sum(VertexRequest request, FusionGroup group) {
        VertexTwin twin = VertexCoverage.sum(
                request, sums.get(group), group.sum().orElseThrow().summand(), context);
        twins.add(twin);
        return twin;
    }

    @Override
    public Optional<PassRecorder> recorder() {
        return context.infers() ? Optional.of(context.tape()) : Optional.empty();
    }

    @Override
    public INDArray passThrough(INDArray input, LayerWorkspaceMgr workspaceMgr) {
        return context.passThrough(input, workspaceMgr);
    }

    private static DataType type(TwinRequest request, LayerKernels.ArrayTypes arrays) {
        boolean halfInput = request.input() == DataType.BFLOAT16;
        boolean half =
                switch (arrays) {
                    case AS_PLANNED, AS_PLANNED_TO_FLOAT -> request.precision().isHalf();
                    case HALF_ON_BOTH_SIDES ->
                        request.precision().isHalf() || (halfInput && request.output() == DataType.BFLOAT16);
                    case IN_FLOAT -> false;
                    case SUMMED_IN_FLOAT -> request.precision().isHalf() || halfInput;
                };
        return half ? DataType.BFLOAT16 : DataType.FLOAT;
    }

    private Twin.Weights weights(TwinRequest request) {
        boolean rounds = !masterWeights
                && request.precision().isHalf()
                && request.master().numParams() > 0;
        return rounds ? roundedAfterSteps(request.master().params()) : Twin.Weights.MASTER;
    }

    /** Returns parameters that are rounded themselves: for opt levels without master weights. */
    private Twin.Weights roundedAfterSteps(INDArray params) {
        INDArray parameters = params.reshape(params.length());
        INDArray rounded;
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            rounded = Nd4j.createUninitialized(DataType.BFLOAT16, parameters.length());
        }
        return new Twin.Weights() {
            @Override
            public void stepDone() {
                context.copies().copy(parameters, rounded);
                context.copies().copy(rounded, parameters);
            }
        };
    }

    private void prepare(TwinRequest request, org.deeplearning4j.nn.api.Layer compute, OneDnnTwin twin) {
        if (request.master().numParams() > 0) {
            INDArray parameters = request.master().params();
            compute.setParamsViewArray(parameters);
            compute.setParamTable(compute.conf().getLayer().initializer().init(compute.conf(), parameters, false));
        }
        request.fusion().ifPresent(fusion -> ((FusedRelu.Partner) twin).fuse(relu(fusion)));
        if (!request.context().outputMayChange()) {
            twin.outputStays();
        }
        if (request.context().inputFused()) {
            twin.lendInputGradient();
        }
        twin.replaces(request.master());
        compute.setIndex(request.master().getIndex());
        compute.setIterationCount(request.master().getIterationCount());
        compute.setEpochCount(request.master().getEpochCount());
    }

    private void note(LayerContext layer) {
        if (layer.foreignConsumer()) {
            context.takeForeignGradients();
        }
    }

    private FusedRelu relu(PrecisionPlan.Fusion fusion) {
        return fusedRelus.computeIfAbsent(fusion, key -> new FusedRelu());
    }

    @Override
    public GraphVertex vertex(VertexRequest request) {
        VertexTwin twin = AttentionLayers.isAttention(request.configuration())
                ? AttentionLayers.vertex(request, context)
                : VertexCoverage.make(request, context);
        twins.add(twin);
        note(request.context());
        request.fusion().ifPresent(fusion -> ((FusedRelu.Partner) twin).fuse(relu(fusion)));
        return twin;
    }

    @Override
    public StepKernels stepKernels() {
        return new HostStepKernels(portable.stepKernels());
    }

    @Override
    public boolean losesSpecialNumbers(INDArray input) {
        if (!input.dataType().isFPType() || input.isEmpty()) {
            return false;
        }
        double largest = Magnitudes.largest(input).orElseGet(() -> Magnitudes.largestOfScattered(input));
        return !(largest <= LARGE);
    }

    @Override
    public Casting casting() {
        return casting;
    }

    @Override
    public void close() {
        twins.forEach(Resources::close);
        twins.clear();
        context.close();
        portable.close();
    }
}
