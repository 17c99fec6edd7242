package org.dl4jamp.engine.nd4j;

import java.util.ArrayList;
import java.util.Optional;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.TwinRequest;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.LossScalingLayer;
import org.dl4jamp.layer.RecurrentTwinLayer;
import org.dl4jamp.layer.StepGuard;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.twin.Gate;
import org.dl4jamp.twin.LayerContext;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

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

    static final StepGuard NO_STEP = new StepGuard() {
        private final Gate gate = new Gate();

        @Override
        public void backwardBegins(LossScalingLayer output, INDArray labels) {}

        @Override
        public boolean skippedLastStep() {
            return false;
        }

        @Override
        public Gate gate() {
            return gate;
        }
    };

    private TwinHarness() {}

    static LayerWorkspaceMgr noWorkspaces() {
        return LayerWorkspaceMgr.noWorkspaces();
    }

    /** DL4J's own FP32 layer, with a gradient view. */
    static org.deeplearning4j.nn.api.Layer dl4j(Layer conf, INDArray params) {
        NeuralNetConfiguration configuration =
                new NeuralNetConfiguration.Builder().layer(conf.clone()).build();
        INDArray view = params.dup().reshape(1, params.length());
        org.deeplearning4j.nn.api.Layer layer =
                configuration.getLayer().instantiate(configuration, new ArrayList<>(), 0, view, false, DataType.FLOAT);
        layer.setBackpropGradientsViewArray(
                Nd4j.valueArrayOf(new long[] {1, params.length()}, Double.NaN, DataType.FLOAT));
        return layer;
    }

    static long numberOfParams(Layer conf) {
        return conf.initializer().numParams(conf);
    }

    /** The layer in HALF: takes and returns HALF arrays. */
    static TwinLayer twin(Way way, Layer conf, INDArray params) {
        org.deeplearning4j.nn.api.Layer master = dl4j(conf, params);
        Nd4jSession session = new Nd4jSession(params.length(), true, way.products());
        Twin twin = session.twin(new TwinRequest("layer", master, Precision.HALF, DataType.HALF));
        GradientScale unscaled = new GradientScale(() -> 1, false);
        return RecurrentTwinLayer.isRecurrent(master)
                ? new RecurrentTwinLayer(
                        master, twin, DataType.HALF, DataType.HALF, LayerContext.CHAIN, unscaled, NO_STEP)
                : new TwinLayer(master, twin, DataType.HALF, DataType.HALF, LayerContext.CHAIN, unscaled, NO_STEP);
    }

    /** The results of a forward and a backward pass. */
    record Result(INDArray output, Gradient gradient, INDArray inputGradient) {
        INDArray gradient(String parameter) {
            return gradient.getGradientFor(parameter);
        }
    }

    /** Forward and backward, in the layer's type. */
    static Result run(org.deeplearning4j.nn.api.Layer layer, INDArray input, INDArray epsilon) {
        INDArray output = layer.activate(input, true, noWorkspaces()).dup();
        layer.setInput(input, noWorkspaces());
        Pair<Gradient, INDArray> result = layer.backpropGradient(epsilon, noWorkspaces());
        return new Result(output, result.getFirst(), result.getSecond());
    }

    /** Forward and backward of the layer in HALF. */
    static Result runHalf(TwinLayer layer, INDArray input, INDArray epsilon) {
        return run(layer, TestArrays.half(input), TestArrays.half(epsilon));
    }
}
