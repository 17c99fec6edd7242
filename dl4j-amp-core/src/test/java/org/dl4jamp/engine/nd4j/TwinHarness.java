package org.dl4jamp.engine.nd4j;

import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.Chain;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.TwinSetup;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A single layer in HALF, as a network would have it, and DL4J's own layer on the same numbers. */
final class TwinHarness {
    /** The two ways in which the engine computes with sums in FP32. */
    enum Way {
        FULL_PRECISION_INSTANCE,
        HALF_PRODUCTS;

        Optional<Products> products() {
            return this == HALF_PRODUCTS ? Optional.of(Products.fast().orElse(Products.CAST)) : Optional.empty();
        }
    }

    private TwinHarness() {}

    static LayerWorkspaceMgr noWorkspaces() {
        return LayerWorkspaceMgr.noWorkspaces();
    }

    static long numberOfParams(Layer conf) {
        return conf.initializer().numParams(conf);
    }

    /**
     * The layer in HALF: takes and returns HALF arrays.
     *
     * @param params null for a layer without parameters
     */
    static TwinLayer twin(Way way, Layer conf, INDArray params) {
        org.deeplearning4j.nn.api.Layer master = SingleLayer.dl4j(conf, params);
        Nd4jSession session = new Nd4jSession(params == null ? 0 : params.length(), true, way.products());
        Twin twin = session.twin(Chain.request(master, Precision.HALF, DataType.HALF));
        GradientScale unscaled = GradientScale.none();
        return new TwinSetup(
                        "layer",
                        master,
                        twin,
                        DataType.HALF,
                        DataType.HALF,
                        Chain.CONTEXT,
                        unscaled,
                        SingleLayer.NO_STEP)
                .wrapper();
    }

    /** Forward and backward of the layer in HALF. */
    static SingleLayer.Result runHalf(TwinLayer layer, INDArray input, INDArray epsilon) {
        return SingleLayer.run(layer, TestArrays.half(input), TestArrays.half(epsilon));
    }
}
