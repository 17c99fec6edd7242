package org.dl4jamp.onednn;

import java.util.ArrayList;
import java.util.Random;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.TwinRequest;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.LossScalingLayer;
import org.dl4jamp.layer.StepGuard;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.twin.Gate;
import org.dl4jamp.twin.LayerContext;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** A single layer as a network would have it on this engine, and DL4J's own layer on the same numbers. */
public final class Layers {
    private static final StepGuard NO_STEP = new StepGuard() {
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

    private Layers() {}

    /** The results of a forward and a backward pass. */
    public record Result(INDArray output, Gradient gradient, INDArray inputGradient) {}

    /** DL4J's own FP32 layer, with a gradient view. */
    public static org.deeplearning4j.nn.api.Layer dl4j(Layer conf, INDArray params) {
        NeuralNetConfiguration configuration =
                new NeuralNetConfiguration.Builder().layer(conf.clone()).build();
        INDArray view = params == null ? null : params.dup().reshape(1, params.length());
        org.deeplearning4j.nn.api.Layer layer =
                configuration.getLayer().instantiate(configuration, new ArrayList<>(), 0, view, false, DataType.FLOAT);
        if (params != null) {
            layer.setBackpropGradientsViewArray(
                    Nd4j.valueArrayOf(new long[] {1, params.length()}, Double.NaN, DataType.FLOAT));
        }
        return layer;
    }

    /** The layer on this engine: takes and returns arrays of a type. */
    public static TwinLayer twin(ComputeEngine.EngineSession session, Layer conf, INDArray params, DataType type) {
        return twin(session, dl4j(conf, params), type);
    }

    /** The twin of a layer. */
    public static TwinLayer twin(
            ComputeEngine.EngineSession session, org.deeplearning4j.nn.api.Layer master, DataType type) {
        boolean lower = type == DataType.BFLOAT16 && !(master.conf().getLayer() instanceof BatchNormalization);
        Precision precision = lower ? Precision.BFLOAT16 : Precision.FLOAT;
        return new TwinLayer(
                master,
                session.twin(new TwinRequest("layer", master, precision, type)),
                type,
                type,
                LayerContext.CHAIN,
                new GradientScale(() -> 1, false),
                NO_STEP);
    }

    /** Forward and backward in training, in the type of the input. */
    public static Result run(org.deeplearning4j.nn.api.Layer layer, INDArray input, INDArray epsilon) {
        return run(layer, input, epsilon, true);
    }

    /** Forward, in training or in inference, and backward. */
    public static Result run(
            org.deeplearning4j.nn.api.Layer layer, INDArray input, INDArray epsilon, boolean training) {
        LayerWorkspaceMgr none = LayerWorkspaceMgr.noWorkspaces();
        INDArray output = layer.activate(input, training, none);
        INDArray copy = output.dup();
        layer.setInput(input, none);
        Pair<Gradient, INDArray> result = layer.backpropGradient(epsilon.dup(), none);
        return new Result(copy, result.getFirst(), result.getSecond());
    }

    /** FLOAT array of normally distributed numbers that BFLOAT16 can represent. */
    public static INDArray gaussian(Random random, double deviation, long... shape) {
        INDArray array = Nd4j.create(DataType.FLOAT, shape);
        for (long i = 0; i < array.length(); i++) {
            array.putScalar(i, rounded((float) (deviation * random.nextGaussian())));
        }
        return array;
    }

    /** The nearest BFLOAT16 number, ties to even. */
    public static float rounded(float value) {
        int bits = Float.floatToRawIntBits(value);
        return Float.intBitsToFloat((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000);
    }
}
