package org.dl4jamp.onednn;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.util.List;
import java.util.Random;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.ops.transforms.Transforms;

/**
 * Compares a layer's twin with DL4J's own FP32 layer on the same numbers, which BFLOAT16 can represent: outputs, and
 * the gradients of input and parameters, in all types that can be tested here.
 */
public final class TwinCheck {
    private static final LayerWorkspaceMgr NONE = LayerWorkspaceMgr.noWorkspaces();

    private final org.deeplearning4j.nn.conf.layers.Layer conf;
    private final Class<?> expectedTwin;
    private final Random random;
    private INDArray mask;
    private double outputRoundings;
    private double deltaRoundings;
    private List<DataType> types = Types.here();

    private TwinCheck(org.deeplearning4j.nn.conf.layers.Layer conf, Class<?> expectedTwin, Random random) {
        this.conf = conf;
        this.expectedTwin = expectedTwin;
        this.random = random;
    }

    public static TwinCheck of(org.deeplearning4j.nn.conf.layers.Layer conf, Class<?> expectedTwin, Random random) {
        return new TwinCheck(conf, expectedTwin, random);
    }

    /** Sets the mask of both layers; null for none. */
    public TwinCheck masked(INDArray given) {
        this.mask = given;
        return this;
    }

    /**
     * Sets how many times a gradient is rounded before the result: that of the sums before an activation function, or
     * each summand of the input's gradient.
     */
    public TwinCheck roundingDelta(double times) {
        this.deltaRoundings = times;
        return this;
    }

    /** Sets how many times the terms of the output's sums are rounded, besides those of the gradients. */
    public TwinCheck roundingOnTheWay(double times) {
        this.outputRoundings = times;
        return this;
    }

    /** Restricts the check to FP32. */
    public TwinCheck inFloat() {
        types = List.of(DataType.FLOAT);
        return this;
    }

    public void agrees(INDArray input) {
        INDArray params = params();
        Layer dl4j = SingleLayer.dl4j(conf, params);
        if (params != null) {
            // DL4J's element-wise multiplication subtracts what is there, and NaN is left of NaN.
            dl4j.getGradientsViewArray().assign(0);
        }
        dl4j.setMaskArray(mask);
        INDArray epsilon =
                gaussian(random, 1, dl4j.activate(input.dup(), true, NONE).shape());
        SingleLayer.Result expected = SingleLayer.run(dl4j, input.dup(), epsilon);
        SingleLayer.Result magnitudes = deltaRoundings == 0 ? null : magnitudes(params, input, epsilon);
        for (DataType type : types) {
            try (EngineSession session = new OneDnnEngine().session(params == null ? 0 : params.length(), true)) {
                TwinLayer twin = Layers.twin(session, conf, params, type);
                twin.setMaskArray(mask);
                assertInstanceOf(expectedTwin, twin.twin().compute());
                compare(type, expected, magnitudes, SingleLayer.run(twin, input.castTo(type), epsilon.castTo(type)));
            }
        }
    }

    /** Such that sums are about one: far away functions are flat, and FP32 has few digits of their slopes. */
    private INDArray params() {
        long number = conf.initializer().numParams(conf);
        if (number == 0) {
            return null;
        }
        double summands = conf instanceof FeedForwardLayer layer ? (double) number / layer.getNOut() : 1;
        return gaussian(random, 1 / Math.sqrt(summands), number);
    }

    /** Gradients with all terms of their sums positive: of the absolute values of what is multiplied. */
    private SingleLayer.Result magnitudes(INDArray params, INDArray input, INDArray epsilon) {
        if (params == null) {
            return SingleLayer.run(SingleLayer.dl4j(conf, null), input.dup(), Transforms.abs(epsilon));
        }
        BaseLayer linear = (BaseLayer) conf.clone();
        IActivation function = linear.getActivationFn();
        linear.setActivationFn(new ActivationIdentity());
        INDArray sums = SingleLayer.dl4j(linear, params).activate(input.dup(), true, NONE);
        INDArray delta = function.backprop(sums.dup(), epsilon.dup()).getFirst();
        return SingleLayer.run(
                SingleLayer.dl4j(linear, Transforms.abs(params)), Transforms.abs(input), Transforms.abs(delta));
    }

    private void compare(
            DataType type, SingleLayer.Result expected, SingleLayer.Result magnitudes, SingleLayer.Result actual) {
        assertEquals(type, actual.output().dataType());
        assertEquals(type, actual.inputGradient().dataType());
        double rounding = type == DataType.FLOAT ? 0 : Agreement.ROUNDING;
        if (outputRoundings == 0) {
            Agreement.assertRoundedOnce(type + " output", expected.output(), actual.output());
        } else {
            Agreement.assertSummedOfRounded(
                    type + " output",
                    expected.output(),
                    actual.output(),
                    magnitudes.output(),
                    outputRoundings * rounding);
        }
        String what = type + " input gradient";
        if (magnitudes == null) {
            Agreement.assertRoundedOnce(what, expected.inputGradient(), actual.inputGradient());
        } else {
            Agreement.assertSummedOfRounded(
                    what,
                    expected.inputGradient(),
                    actual.inputGradient(),
                    magnitudes.inputGradient(),
                    deltaRoundings * rounding);
        }
        for (String parameter : expected.gradient().gradientForVariable().keySet()) {
            INDArray full = expected.gradient().getGradientFor(parameter);
            INDArray twin = actual.gradient().getGradientFor(parameter);
            if (magnitudes == null) {
                Agreement.assertWithin(type + " " + parameter, full, twin, 1e-5, expected.inputGradient());
            } else {
                INDArray magnitude = magnitudes.gradient().getGradientFor(parameter);
                Agreement.assertSummedOfRounded(
                        type + " " + parameter, full, twin, magnitude, deltaRoundings * rounding);
            }
        }
    }
}
