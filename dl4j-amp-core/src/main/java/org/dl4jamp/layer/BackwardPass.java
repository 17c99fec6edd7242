package org.dl4jamp.layer;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.NetworkCall;
import org.dl4jamp.twin.Casting;
import org.dl4jamp.twin.LayerContext;
import org.dl4jamp.twin.OptionalInputGradient;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Runs a twin backward. Takes the scale out of the parameter gradients as soon as they are written, and returns the
 * gradient of the input in the type of the input. Skips what isn't read.
 */
final class BackwardPass {
    /** One way of running the twin backward, on the input that has been set. */
    interface Computation {
        Pair<Gradient, INDArray> run(INDArray epsilon, LayerWorkspaceMgr workspaceMgr);
    }

    /** The place where the scale of the gradients begins. */
    enum Scale {
        /** In a layer behind: what flows in carries it, and so do the parameter gradients that the twin writes. */
        CARRIED,
        /** Here, in an output layer: the gradient that it returns carries the scale. */
        ADDED
    }

    private final Layer master;
    private final Twin twin;
    private final LayerContext surroundings;
    private final GradientScale gradientScale;
    private final Scale scale;
    private final KeptInput input;
    private final TwinDropout dropout;
    private ScaledGradients parameterGradients;

    BackwardPass(
            Layer master,
            Twin twin,
            LayerContext surroundings,
            GradientScale gradientScale,
            Scale scale,
            KeptInput input,
            TwinDropout dropout) {
        this.master = master;
        this.twin = twin;
        this.surroundings = surroundings;
        this.gradientScale = gradientScale;
        this.scale = scale;
        this.input = input;
        this.dropout = dropout;
    }

    /**
     * Sets the array to which parameter gradients are written.
     *
     * @param view the layer's part of the network's gradient view
     */
    void writeTo(INDArray view) {
        parameterGradients = ScaledGradients.of(master, view);
    }

    Pair<Gradient, INDArray> run(INDArray epsilon, LayerWorkspaceMgr workspaceMgr, Computation computation) {
        if (isUnread()) {
            return new Pair<>(new DefaultGradient(), unread(workspaceMgr));
        }
        input.settle(workspaceMgr, ArrayType.BP_WORKING_MEM);
        twin.weights().reload();
        boolean castsOut = typeHandedBack() != twin.dataType() || twin.dropout() != null;
        LayerWorkspaceMgr inner =
                input.handToTwin(workspaceMgr, ArrayType.BP_WORKING_MEM, castsOut, ArrayType.ACTIVATION_GRAD);
        boolean spares = sparesInputGradient();
        TwinScale.Scaled scaled = compute(epsilon, workspaceMgr, inner, computation);
        unscaleParameterGradients(scaled.scale());
        Gradient gradient = scaled.result().getFirst();
        if (spares) {
            return new Pair<>(gradient, unread(workspaceMgr));
        }
        INDArray next = handBack(dropout.backprop(scaled.result().getSecond(), workspaceMgr), workspaceMgr);
        if (next != null && scaled.scale() != 1) {
            next.muli(1 / scaled.scale());
        }
        return new Pair<>(gradient, next);
    }

    /** Has the network's own layer compute what it has computed forward, in FP32 and without a scale. */
    Pair<Gradient, INDArray> runMaster(INDArray epsilon, LayerWorkspaceMgr workspaceMgr, Computation computation) {
        INDArray own = twin.casting().cast(epsilon, DataType.FLOAT, workspaceMgr, ArrayType.BP_WORKING_MEM);
        Pair<Gradient, INDArray> result = computation.run(own, workspaceMgr);
        return new Pair<>(result.getFirst(), handBack(result.getSecond(), workspaceMgr));
    }

    /** Returns whether there is neither a gradient of parameters to compute nor one of the input that someone reads. */
    private boolean isUnread() {
        return surroundings.inputGradient() != LayerContext.InputGradient.READ
                && master.numParams() == 0
                && NetworkCall.dropsInputGradient();
    }

    /**
     * Returns zeros in place of a gradient of the input that no parameter depends on, for layers that pass it through.
     */
    private INDArray unread(LayerWorkspaceMgr workspaceMgr) {
        return surroundings.inputGradient() == LayerContext.InputGradient.DROPPED
                ? null
                : workspaceMgr.create(
                        ArrayType.ACTIVATION_GRAD,
                        typeHandedBack(),
                        input.array().shape(),
                        'c');
    }

    private boolean sparesInputGradient() {
        if (surroundings.inputGradient() == LayerContext.InputGradient.READ
                || !(twin.compute() instanceof OptionalInputGradient sparing)) {
            return false;
        }
        boolean unwanted = NetworkCall.dropsInputGradient();
        sparing.spareInputGradient(unwanted);
        return unwanted;
    }

    private TwinScale.Scaled compute(
            INDArray epsilon, LayerWorkspaceMgr workspaceMgr, LayerWorkspaceMgr inner, Computation computation) {
        if (twin.outputType() == DataType.HALF && gradientScale.needFloat()) {
            return TwinScale.run(epsilon, workspaceMgr, half -> computation.run(half, inner));
        }
        INDArray own = twin.casting().cast(epsilon, twin.outputType(), workspaceMgr, ArrayType.BP_WORKING_MEM);
        return new TwinScale.Scaled(computation.run(own, inner), 1);
    }

    /**
     * Makes the parameter gradients true ones.
     *
     * @param ownScale the twin's factor of them, beside the scale of the step
     */
    private void unscaleParameterGradients(double ownScale) {
        double inverse = (scale == Scale.CARRIED ? gradientScale.inverse() : 1) / ownScale;
        if (inverse != 1 && parameterGradients != null) {
            parameterGradients.multiply(inverse);
        }
    }

    private DataType typeHandedBack() {
        return gradientScale.typeOfGradients(input.givenType());
    }

    private INDArray handBack(INDArray gradient, LayerWorkspaceMgr workspaceMgr) {
        if (gradient == null) {
            return null;
        }
        if (scale == Scale.ADDED && gradientScale.factor() != 1) {
            gradient.muli(gradientScale.factor());
        }
        Casting casting = twin.casting();
        INDArray cast = casting.cast(gradient, typeHandedBack(), workspaceMgr, ArrayType.ACTIVATION_GRAD);
        INDArray ordered = surroundings.foreignProducer()
                ? casting.usualOrder(cast, workspaceMgr, ArrayType.ACTIVATION_GRAD)
                : cast;
        INDArray own = casting.leverage(ordered, workspaceMgr);
        return surroundings.inputShared() ? casting.summable(own) : own;
    }
}
