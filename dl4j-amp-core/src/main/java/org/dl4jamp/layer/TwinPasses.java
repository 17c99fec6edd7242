package org.dl4jamp.layer;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.NetworkCall;
import org.dl4jamp.twin.Casting;
import org.dl4jamp.twin.LayerContext;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Runs a twin forward and backward. Settles its input, refreshes its weights, applies dropout, computes, and casts the
 * result to the type of the output or, backward, of the input. Takes the scale out of the parameter gradients as soon
 * as they are written. Skips what isn't read.
 */
final class TwinPasses {
    /** One way of running the twin forward, on the input that has been set. */
    interface Forward {
        INDArray run(LayerWorkspaceMgr workspaceMgr);
    }

    /** One way of running the twin backward, on the input that has been set. */
    interface Backward {
        Pair<Gradient, INDArray> run(INDArray epsilon, LayerWorkspaceMgr workspaceMgr);
    }

    private final TwinSetup setup;
    private final Layer master;
    private final Twin twin;
    private final boolean scalesLoss;
    private final KeptInput input;
    private List<INDArray> parameterGradients = List.of();

    TwinPasses(TwinSetup setup, KeptInput input) {
        this.setup = setup;
        this.master = setup.master();
        this.twin = setup.twin();
        // There the scale begins: the gradient that is returned carries it, and those of its parameters don't.
        this.scalesLoss = master instanceof IOutputLayer;
        this.input = input;
    }

    INDArray forward(boolean training, LayerWorkspaceMgr workspaceMgr, Forward computation) {
        LayerWorkspaceMgr inner = begin(training, workspaceMgr, setup.output() != twin.outputType());
        INDArray activations =
                twin.casting().cast(computation.run(inner), setup.output(), workspaceMgr, ArrayType.ACTIVATIONS);
        INDArray output = setup.context().readInUsualOrder()
                ? twin.casting().usualOrder(activations, workspaceMgr, ArrayType.ACTIVATIONS)
                : activations;
        if (training) {
            setup.observeOutput(output);
        }
        return output;
    }

    /** Sets the twin's input and weights, and returns the workspaces for what it computes. */
    LayerWorkspaceMgr begin(boolean training, LayerWorkspaceMgr workspaceMgr, boolean castsOut) {
        input.settle(workspaceMgr, ArrayType.FF_WORKING_MEM);
        twin.weights().refresh();
        if (training) {
            input.dropOut(workspaceMgr, ArrayType.FF_WORKING_MEM);
        }
        return input.handToTwin(workspaceMgr, ArrayType.FF_WORKING_MEM, castsOut, ArrayType.ACTIVATIONS);
    }

    /** Sets the layer's part of the network's gradient view, to which parameter gradients are written. */
    void writeTo(INDArray view) {
        parameterGradients = scaled(view);
    }

    /** Returns the parts of a view that hold gradients, not updates of running statistics, which are never scaled. */
    private List<INDArray> scaled(INDArray view) {
        Intervals intervals = new Intervals();
        long start = 0;
        for (Map.Entry<String, INDArray> parameter : master.paramTable(false).entrySet()) {
            long end = start + parameter.getValue().length();
            if (master.updaterDivideByMinibatch(parameter.getKey())) {
                intervals.add(start, end);
            }
            start = end;
        }
        return intervals.of(view);
    }

    Pair<Gradient, INDArray> backward(INDArray epsilon, LayerWorkspaceMgr workspaceMgr, Backward computation) {
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
        INDArray next = handBack(input.beforeDropout(scaled.result().getSecond(), workspaceMgr), workspaceMgr);
        if (next != null && scaled.scale() != 1) {
            next.muli(1 / scaled.scale());
        }
        setup.observeInputGradient(next);
        return new Pair<>(gradient, next);
    }

    /** Returns whether there is neither a gradient of parameters to compute nor one of the input that someone reads. */
    private boolean isUnread() {
        return setup.context().inputGradient() != LayerContext.InputGradient.READ
                && master.numParams() == 0
                && dropsInputGradient();
    }

    /**
     * Returns zeros in place of a gradient of the input that no parameter depends on, for layers that pass it through.
     */
    private INDArray unread(LayerWorkspaceMgr workspaceMgr) {
        return setup.context().inputGradient() == LayerContext.InputGradient.DROPPED
                ? null
                : workspaceMgr.create(
                        ArrayType.ACTIVATION_GRAD,
                        typeHandedBack(),
                        input.array().shape(),
                        'c');
    }

    private boolean sparesInputGradient() {
        if (setup.context().inputGradient() == LayerContext.InputGradient.READ
                || !(twin.compute() instanceof Twin.OptionalInputGradient sparing)) {
            return false;
        }
        boolean unwanted = dropsInputGradient();
        sparing.spareInputGradient(unwanted);
        return unwanted;
    }

    /** A step's pass drops it. To look at the stack for others takes as long as the pass of a tiny layer. */
    private boolean dropsInputGradient() {
        return setup.gradientScale().isStep() || NetworkCall.dropsInputGradient();
    }

    private TwinScale.Scaled compute(
            INDArray epsilon, LayerWorkspaceMgr workspaceMgr, LayerWorkspaceMgr inner, Backward computation) {
        if (twin.outputType() == DataType.HALF && setup.gradientScale().needFloat()) {
            TwinScale.Scaled scaled = TwinScale.run(epsilon, workspaceMgr, half -> computation.run(half, inner));
            setup.observeLayerScale(scaled.scale());
            return scaled;
        }
        INDArray own = twin.casting().cast(epsilon, twin.outputType(), workspaceMgr, ArrayType.BP_WORKING_MEM);
        return new TwinScale.Scaled(computation.run(own, inner), 1);
    }

    /** Makes the parameter gradients true ones: the twin may have a factor of its own, beside the scale of the step. */
    void unscaleParameterGradients(double ownScale) {
        double inverse = 1 / (scalesLoss ? ownScale : setup.gradientScale().factor() * ownScale);
        if (inverse != 1) {
            parameterGradients.forEach(gradient -> gradient.muli(inverse));
        }
    }

    private DataType typeHandedBack() {
        return setup.gradientScale().gradientType(input.givenType());
    }

    INDArray handBack(INDArray gradient, LayerWorkspaceMgr workspaceMgr) {
        if (gradient == null) {
            return null;
        }
        if (scalesLoss && setup.gradientScale().factor() != 1) {
            gradient.muli(setup.gradientScale().factor());
        }
        Casting casting = twin.casting();
        INDArray cast = casting.cast(gradient, typeHandedBack(), workspaceMgr, ArrayType.ACTIVATION_GRAD);
        INDArray ordered = setup.context().foreignProducer()
                ? casting.usualOrder(cast, workspaceMgr, ArrayType.ACTIVATION_GRAD)
                : cast;
        INDArray own = casting.leverage(ordered, workspaceMgr);
        return setup.context().inputShared() ? casting.summable(own) : own;
    }

    /**
     * Runs a twin with HALF gradients backward where the loss isn't scaled. It has a scale of its own, chosen by the
     * largest gradient, and a lower one if the resulting gradients are too large for it.
     */
    private static final class TwinScale {
        /**
         * Exponent that the largest gradient is scaled to: FP16 has 2<sup>12</sup> above it and 2<sup>28</sup> below.
         */
        private static final int EXPONENT = 4;

        private static final int STEP = 8;

        /** Dropout behind the twin may enlarge what comes out. */
        private static final double LARGEST = 1024;

        /** Below, HALF has no digits. */
        private static final int SMALLEST = -24;

        /** Gradients of parameters and of the input, times a scale, which is a power of two. */
        record Scaled(Pair<Gradient, INDArray> result, double scale) {}

        private TwinScale() {}

        /**
         * Runs a twin on a multiple, in HALF, of the gradient of its output, which is FLOAT. The manager has the
         * working memory of the backward pass.
         */
        static Scaled run(
                INDArray epsilon, LayerWorkspaceMgr workspaceMgr, Function<INDArray, Pair<Gradient, INDArray>> twin) {
            double largest = epsilon.amaxNumber().doubleValue();
            int exponent = largest > 0 && Double.isFinite(largest) ? EXPONENT - Math.getExponent(largest) : 0;
            while (true) {
                double scale = Math.scalb(1.0, exponent);
                Pair<Gradient, INDArray> result = twin.apply(scaled(epsilon, scale, workspaceMgr));
                boolean fits = result.getSecond() == null
                        || result.getSecond().amaxNumber().doubleValue() <= LARGEST;
                exponent -= STEP;
                if (fits || Math.scalb(largest, exponent) < Math.scalb(1.0, SMALLEST) || !Double.isFinite(largest)) {
                    return new Scaled(result, scale);
                }
            }
        }

        /** Returns a multiple of an array, rounded once. */
        private static INDArray scaled(INDArray array, double scale, LayerWorkspaceMgr workspaceMgr) {
            LayerWorkspaceMgr known = workspaceMgr.hasConfiguration(ArrayType.BP_WORKING_MEM)
                    ? workspaceMgr
                    : LayerWorkspaceMgr.noWorkspaces();
            INDArray multiple = known.createUninitialized(
                    ArrayType.BP_WORKING_MEM, array.dataType(), array.shape(), array.ordering());
            array.muli(scale, multiple);
            return Casting.ND4J.cast(multiple, DataType.HALF, workspaceMgr, ArrayType.BP_WORKING_MEM);
        }
    }
}
