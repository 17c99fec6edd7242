package org.dl4jamp.engine.nd4j;

import java.util.ArrayList;
import java.util.Optional;
import java.util.Set;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.dropout.IDropout;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.TwinRequest;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.twin.Casting;
import org.dl4jamp.twin.Twin;
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
    private static final Set<Class<? extends Layer>> DROP_FROM_INPUT = Set.of(
            DenseLayer.class,
            ConvolutionLayer.class,
            Deconvolution2D.class,
            DepthwiseConvolution2D.class,
            SeparableConvolution2D.class,
            LSTM.class,
            GravesLSTM.class,
            SimpleRnn.class,
            DropoutLayer.class);

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

    private Twin castingTwin(TwinRequest request) {
        if (request.master() instanceof BaseWrapperLayer) {
            // Its configuration is that of the layer that it wraps: a twin made of it would lack the wrapper.
            return new Twin(
                    request.master(), DataType.FLOAT, false, Twin.Retention.CAST_INPUT, null, Twin.Weights.MASTER);
        }
        Layer layer = request.master().conf().getLayer();
        boolean lower = request.precision().isHalf();
        IDropout dropout = DROP_FROM_INPUT.contains(layer.getClass()) ? layer.getIDropout() : null;
        Twin.Retention retention = BackwardNeeds.of(layer, dropout != null);
        boolean ownMasterWeights = !lower || request.master().numParams() == 0;
        if (ownMasterWeights && dropout == null && layer.getClass() != BatchNormalization.class) {
            return new Twin(request.master(), DataType.FLOAT, false, retention, null, Twin.Weights.MASTER);
        }
        NeuralNetConfiguration conf = request.master().conf().clone();
        conf.setCacheMode(CacheMode.NONE);
        if (dropout != null) {
            conf.getLayer().setIDropout(null);
        }
        if (ownMasterWeights) {
            return new Twin(
                    compute(request, conf, request.master().params()),
                    DataType.FLOAT,
                    false,
                    retention,
                    dropout,
                    Twin.Weights.MASTER);
        }
        if (request.precision() == Precision.HALF
                && halfProducts.isPresent()
                && HalfProductTwins.exist(conf.getLayer())) {
            RoundedWeights weights = new RoundedWeights(request.master().params(), DataType.HALF, null, masterWeights);
            return new Twin(
                    own(request, conf, HalfProductTwins.make(conf, halfProducts.get()), weights.rounded()),
                    DataType.HALF,
                    true,
                    retention,
                    dropout,
                    weights);
        }
        INDArray rounded = scratch(request.master().params());
        RoundedWeights weights =
                new RoundedWeights(request.master().params(), request.storage(), rounded, masterWeights);
        return new Twin(
                compute(request, conf, rounded),
                DataType.FLOAT,
                !BackwardNeeds.isEmbedding(layer),
                retention,
                dropout,
                weights);
    }

    private static org.deeplearning4j.nn.api.Layer compute(
            TwinRequest request, NeuralNetConfiguration conf, INDArray weights) {
        // Subclasses may compute anything.
        if (conf.getLayer().getClass() == BatchNormalization.class) {
            return own(request, conf, new BatchNormTwin(conf), weights);
        }
        return counted(
                request,
                conf.getLayer()
                        .instantiate(
                                conf, new ArrayList<>(), request.master().getIndex(), weights, false, DataType.FLOAT));
    }

    /** Gives a layer of ours its weights. */
    private static org.deeplearning4j.nn.api.Layer own(
            TwinRequest request, NeuralNetConfiguration conf, org.deeplearning4j.nn.api.Layer layer, INDArray weights) {
        layer.setParamsViewArray(weights);
        layer.setParamTable(conf.getLayer().initializer().init(conf, weights, false));
        return counted(request, layer);
    }

    private static org.deeplearning4j.nn.api.Layer counted(TwinRequest request, org.deeplearning4j.nn.api.Layer layer) {
        layer.setIndex(request.master().getIndex());
        layer.setIterationCount(request.master().getIterationCount());
        layer.setEpochCount(request.master().getEpochCount());
        return layer;
    }

    /**
     * Returns memory for the rounded weights of one layer at a time, or of this layer alone, in the shape of its
     * parameters.
     */
    private INDArray scratch(INDArray parameters) {
        if (largestLayer == 0) {
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                return Nd4j.createUninitialized(DataType.FLOAT, parameters.shape());
            }
        }
        if (scratch == null) {
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                scratch = Nd4j.createUninitialized(DataType.FLOAT, largestLayer);
            }
        }
        return scratch.get(NDArrayIndex.interval(0, parameters.length())).reshape(parameters.shape());
    }

    @Override
    public void close() {
        scratch = null;
    }
}
