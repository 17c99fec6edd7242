package org.dl4jamp.onednn;

import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.dropout.IDropout;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.TwinRequest;
import org.dl4jamp.layer.Casting;
import org.dl4jamp.layer.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the twins of one network. A layer without a kernel that takes or hands on BFLOAT16 gets the portable engine's twin, between oneDNN's
 * casts.
 */
final class OneDnnSession implements ComputeEngine.EngineSession {
    private static final Logger LOG = LoggerFactory.getLogger(OneDnnSession.class);

    private final OneDnnContext context = new OneDnnContext();
    private final Casting casting = new OneDnnCasting(context);
    private final List<AutoCloseable> twins = new ArrayList<>();
    private final ComputeEngine.EngineSession portable;
    private final boolean masterWeights;

    OneDnnSession(ComputeEngine.EngineSession portable, boolean masterWeights) {
        this.portable = portable;
        this.masterWeights = masterWeights;
    }

    @Override
    public Twin twin(TwinRequest request) {
        Layer layer = request.master().conf().getLayer();
        // The configuration of DL4J's wrappers is that of the layer that they wrap.
        boolean wrapper = request.master() instanceof BaseWrapperLayer;
        if (wrapper || Coverage.without(layer, request.precision()).isPresent()) {
            return portable.twin(request).with(casting);
        }
        DataType type = type(request, layer);
        if (type == DataType.BFLOAT16 && twins.isEmpty() && OneDnnLibrary.bfloat16() != OneDnnLibrary.Bfloat16.NATIVE) {
            LOG.warn("This CPU has no instructions for products of BFLOAT16: FLOAT is faster on it");
        }
        NeuralNetConfiguration conf = request.master().conf().clone();
        conf.setCacheMode(CacheMode.NONE);
        LayerKernels<?> kernels = Coverage.of(layer).orElseThrow();
        IDropout dropout = kernels.dropsInput() ? conf.getLayer().getIDropout() : null;
        conf.getLayer().setIDropout(null);
        boolean rounds = type == DataType.BFLOAT16;
        return new Twin(
                compute(request, kernels.maker().make(conf, type, context)),
                type,
                rounds,
                Twin.Retention.INPUT,
                dropout,
                weights(request),
                casting);
    }

    private static DataType type(TwinRequest request, Layer layer) {
        boolean halfOnBothSides = request.input() == DataType.BFLOAT16 && request.output() == DataType.BFLOAT16;
        boolean normalizes = layer instanceof BatchNormalization;
        if (EmbeddingLayers.isEmbedding(layer)) {
            return DataType.FLOAT;
        }
        return request.precision().isHalf() || (normalizes && halfOnBothSides) ? DataType.BFLOAT16 : DataType.FLOAT;
    }

    private Twin.Weights weights(TwinRequest request) {
        boolean rounds = !masterWeights
                && request.precision().isHalf()
                && request.master().numParams() > 0;
        return rounds ? new RoundedMaster(context, request.master().params()) : Twin.Weights.MASTER;
    }

    private org.deeplearning4j.nn.api.Layer compute(TwinRequest request, org.deeplearning4j.nn.api.Layer twin) {
        twins.add((AutoCloseable) twin);
        if (request.master().numParams() > 0) {
            INDArray parameters = request.master().params();
            twin.setParamsViewArray(parameters);
            twin.setParamTable(twin.conf().getLayer().initializer().init(twin.conf(), parameters, false));
        }
        twin.setIndex(request.master().getIndex());
        twin.setIterationCount(request.master().getIterationCount());
        twin.setEpochCount(request.master().getEpochCount());
        return twin;
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
