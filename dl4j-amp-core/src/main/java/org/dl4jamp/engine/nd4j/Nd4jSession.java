package org.dl4jamp.engine.nd4j;

import java.util.ArrayList;
import java.util.Optional;
import java.util.Set;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.dropout.IDropout;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Convolution2D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.LearnedSelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.TwinRequest;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.twin.Casting;
import org.dl4jamp.twin.Twin;
import org.dl4jamp.twin.Twin.Retention;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationHardSigmoid;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationReLU;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/**
 * Makes the twins of one network: where half products are fast, our own layers over HALF weights; else DL4J's own layer
 * classes over rounded weights, in FP32 arithmetic, between casts. Either way products of half numbers are summed in
 * FP32 and rounded once.
 */
final class Nd4jSession implements ComputeEngine.EngineSession {
    /**
     * The layers that apply their configured dropout to their whole input: the wrapper can do it for them and keep the
     * result in half precision. Others ignore it, as embeddings, or apply it to something else.
     */
    private static final Set<Class<? extends org.deeplearning4j.nn.conf.layers.Layer>> DROP_FROM_INPUT = Set.of(
            DenseLayer.class,
            ConvolutionLayer.class,
            Deconvolution2D.class,
            DepthwiseConvolution2D.class,
            SeparableConvolution2D.class,
            LSTM.class,
            GravesLSTM.class,
            SimpleRnn.class,
            DropoutLayer.class);

    private static final Set<Class<? extends IActivation>> GATES =
            Set.of(ActivationSigmoid.class, ActivationHardSigmoid.class);

    private final long largestLayer;
    private final boolean masterWeights;
    private final Optional<Products> halfProducts;
    private INDArray scratch;

    /**
     * @param largestLayer the number of parameters of the largest layer; 0 if each layer keeps its rounded weights, as
     *     in inference
     * @param masterWeights whether parameters keep their FP32 digits
     * @param halfProducts products of twins over HALF weights; empty to do without such twins
     */
    Nd4jSession(long largestLayer, boolean masterWeights, Optional<Products> halfProducts) {
        this.largestLayer = largestLayer;
        this.masterWeights = masterWeights;
        this.halfProducts = halfProducts;
    }

    @Override
    public Twin twin(TwinRequest request) {
        Twin twin = castingTwin(request);
        boolean takesWholeNumbers = twin.compute() == request.master()
                || BackwardNeeds.isEmbedding(request.master().conf().getLayer());
        return takesWholeNumbers ? twin.with(new Casting.OfRowNumbers(twin.casting())) : twin;
    }

    @Override
    public GraphVertex vertex(VertexRequest request) {
        boolean fast = request.storage() == DataType.HALF && halfProducts.isPresent();
        return new AttentionVertexTwin(request, fast ? halfProducts.get() : Products.CAST);
    }

    private Twin castingTwin(TwinRequest request) {
        Layer master = request.master();
        if (master instanceof BaseWrapperLayer) {
            // Its configuration is that of the layer that it wraps: a twin made of it would lack the wrapper.
            return new Twin(master, DataType.FLOAT, false, Retention.CAST_INPUT, null, Twin.Weights.MASTER);
        }
        org.deeplearning4j.nn.conf.layers.Layer layer = master.conf().getLayer();
        IDropout dropout = DROP_FROM_INPUT.contains(layer.getClass()) ? layer.getIDropout() : null;
        Retention retention = BackwardNeeds.of(layer, dropout != null);
        NeuralNetConfiguration conf = master.conf().clone();
        conf.setCacheMode(CacheMode.NONE);
        if (dropout != null) {
            conf.getLayer().setIDropout(null);
        }
        if (request.precision() == Precision.HALF && halfProducts.isPresent() && hasHalfTwin(conf.getLayer())) {
            boolean rounds = master.numParams() > 0;
            RoundedWeights weights = rounds ? rounded(master.params(), DataType.HALF, null) : null;
            var compute = own(master, halfTwin(conf, halfProducts.get()), rounds ? weights.rounded() : null);
            var kept = rounds ? weights : Twin.Weights.MASTER;
            return new Twin(compute, DataType.HALF, true, retention, dropout, kept);
        }
        if (request.precision() == Precision.HALF && halfProducts.isPresent() && isExactInHalf(conf.getLayer())) {
            var compute = counted(
                    master, layer.instantiate(conf, new ArrayList<>(), master.getIndex(), null, false, DataType.HALF));
            return new Twin(compute, DataType.HALF, false, retention, dropout, Twin.Weights.MASTER);
        }
        if (!request.precision().isHalf() || master.numParams() == 0) {
            boolean asItIs = dropout == null && layer.getClass() != BatchNormalization.class;
            var compute = asItIs ? master : inFloat(master, conf, master.params());
            return new Twin(compute, DataType.FLOAT, false, retention, dropout, Twin.Weights.MASTER);
        }
        RoundedWeights weights = rounded(master.params(), request.storage(), scratch(master.params()));
        var compute = inFloat(master, conf, weights.scratch());
        return new Twin(compute, DataType.FLOAT, !BackwardNeeds.isEmbedding(layer), retention, dropout, weights);
    }

    /** Returns whether a layer, without the dropout that the wrapper applies, has a twin over HALF weights. */
    static boolean hasHalfTwin(org.deeplearning4j.nn.conf.layers.Layer layer) {
        if (layer.getIDropout() != null || BackwardNeeds.hasWeightNoise(layer)) {
            return false;
        }
        // Subclasses may compute anything.
        Class<?> type = layer.getClass();
        if (type == DenseLayer.class) {
            return !((DenseLayer) layer).hasLayerNorm();
        }
        if (type == ConvolutionLayer.class || type == Convolution2D.class) {
            ConvolutionLayer convolution = (ConvolutionLayer) layer;
            IActivation activation = convolution.getActivationFn();
            boolean elementwise = activation.getClass().getPackage() == ActivationIdentity.class.getPackage()
                    && !(activation instanceof ActivationSoftmax);
            return elementwise && convolution.getCnn2dDataFormat() == CNN2DFormat.NCHW;
        }
        return type == SelfAttentionLayer.class
                || type == LearnedSelfAttentionLayer.class
                || (type == LSTM.class
                        && GATES.contains(((LSTM) layer).getGateActivationFn().getClass()));
    }

    /** Returns whether a layer without parameters hands on, or drops, each number as it is: it needs no casts. */
    private static boolean isExactInHalf(org.deeplearning4j.nn.conf.layers.Layer layer) {
        return layer.getClass() == ActivationLayer.class
                && layer.getIDropout() == null
                && ((ActivationLayer) layer).getActivationFn() instanceof ActivationReLU relu
                && relu.equals(new ActivationReLU());
    }

    private static Layer halfTwin(NeuralNetConfiguration conf, Products products) {
        var layer = conf.getLayer();
        if (layer instanceof DenseLayer) {
            return new DenseTwin(conf, products);
        }
        if (layer instanceof LSTM) {
            return new LstmTwin(conf, products);
        }
        return layer instanceof ConvolutionLayer
                ? new ConvolutionTwin(conf, products, ConvolutionTwin.SLICE_BYTES)
                : new AttentionTwin(conf, products);
    }

    private static Layer inFloat(Layer master, NeuralNetConfiguration conf, INDArray weights) {
        var layer = conf.getLayer();
        // Subclasses may compute anything.
        return layer.getClass() == BatchNormalization.class
                ? own(master, new BatchNormTwin(conf), weights)
                : counted(
                        master,
                        layer.instantiate(conf, new ArrayList<>(), master.getIndex(), weights, false, DataType.FLOAT));
    }

    /** Gives a layer of ours its weights. */
    private static Layer own(Layer master, Layer layer, INDArray weights) {
        layer.setParamsViewArray(weights);
        layer.setParamTable(layer.conf().getLayer().initializer().init(layer.conf(), weights, false));
        return counted(master, layer);
    }

    private static Layer counted(Layer master, Layer layer) {
        layer.setIndex(master.getIndex());
        layer.setIterationCount(master.getIterationCount());
        layer.setEpochCount(master.getEpochCount());
        return layer;
    }

    /**
     * The master weights rounded to half precision, and the rounded ones in FP32 for a twin that computes in it.
     *
     * @param scratch receives the rounded weights in FP32; null if they aren't used in FP32. Other layers may use it,
     *     too
     * @param keepsMaster whether the FP32 parameters keep their digits
     */
    private record RoundedWeights(INDArray master, INDArray rounded, INDArray scratch, boolean keepsMaster)
            implements Twin.Weights {
        @Override
        public void refresh() {
            rounded.assign(master);
            reload();
        }

        @Override
        public void stepDone() {
            if (!keepsMaster) {
                rounded.assign(master);
                master.assign(rounded);
            }
        }

        @Override
        public void reload() {
            if (scratch != null) {
                scratch.assign(rounded);
            }
        }
    }

    private RoundedWeights rounded(INDArray master, DataType precision, INDArray scratch) {
        return new RoundedWeights(master, uninitialized(precision, master.shape()), scratch, masterWeights);
    }

    /** Returns memory, in the shape of the parameters, for one layer at a time, or for this layer alone. */
    private INDArray scratch(INDArray parameters) {
        if (largestLayer == 0) {
            return uninitialized(DataType.FLOAT, parameters.shape());
        }
        if (scratch == null) {
            scratch = uninitialized(DataType.FLOAT, largestLayer);
        }
        return scratch.get(NDArrayIndex.interval(0, parameters.length())).reshape(parameters.shape());
    }

    static INDArray uninitialized(DataType type, long... shape) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            return Nd4j.createUninitialized(type, shape);
        }
    }

    @Override
    public void close() {
        scratch = null;
    }
}
