package org.dl4jamp.layer;

import java.util.Optional;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.normalization.BatchNormalization;
import org.deeplearning4j.nn.layers.recurrent.BidirectionalLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.HiddenFields;
import org.dl4jamp.twin.RefusedShape;
import org.dl4jamp.twin.RefusedShapes;
import org.dl4jamp.twin.Twin;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.impl.ActivationRReLU;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.rng.Random;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Runs a network's own layer, in FP32 and with its own parameters, in passes that its twin doesn't compute. Those are
 * passes in which numbers would be lost, and shapes that the twin refuses. The layer goes on with dropout and noise
 * that were drawn before.
 */
final class MasterPasses {
    private final TwinSetup setup;
    private final Layer master;
    private final Twin twin;
    private final KeptInput input;
    private final TwinPasses passes;
    private final boolean isNoisy;
    private final boolean drawsSlopes;
    private boolean computes;

    MasterPasses(TwinSetup setup, KeptInput input, TwinPasses passes) {
        this.setup = setup;
        this.master = setup.master();
        this.twin = setup.twin();
        this.input = input;
        this.passes = passes;
        org.deeplearning4j.nn.conf.layers.Layer layer = master.conf().getLayer();
        this.isNoisy = isNoisy(layer);
        this.drawsSlopes = drawsSlopes(layer) && layer.getIDropout() == null;
    }

    private static boolean isNoisy(org.deeplearning4j.nn.conf.layers.Layer layer) {
        return layer instanceof Bidirectional both
                ? isNoisy(both.getFwd())
                : layer instanceof BaseLayer own && own.getWeightNoise() != null;
    }

    private static boolean drawsSlopes(org.deeplearning4j.nn.conf.layers.Layer layer) {
        return layer instanceof ActivationLayer only
                ? only.getActivationFn() instanceof ActivationRReLU
                : layer instanceof BaseLayer own && own.getActivationFn() instanceof ActivationRReLU;
    }

    /** Returns whether the master computes the pass that has begun. */
    boolean computes() {
        return computes;
    }

    /**
     * Ends a pass: the next one is the twin's, unless something is against it. DL4J's output layers keep noisy weights
     * until the network clears them.
     */
    void end() {
        if (computes) {
            HiddenFields.moveNoise(master, twin.compute());
            computes = false;
        }
    }

    /** Begins a forward pass: the master's, if the twin would lose special numbers. */
    void beginForward(boolean training) {
        computes = twin.compute() != master && setup.context().check().leavesToDl4j(training, input.array());
    }

    /** Runs a part of a pass with the master if the pass is its, or the twin refuses the shape, now or before. */
    <T> T unlessRefused(Runnable rewinding, Supplier<T> ours, Supplier<T> left) {
        computes |= shapes().contain(input.array());
        if (computes) {
            return left.get();
        }
        Optional<T> result = attempt(input.array(), rewinding, ours);
        computes = result.isEmpty();
        return result.orElseGet(left);
    }

    /** Pretrains with the twin, or with the master if the twin refuses the shape of the rows, now or before. */
    Layer unlessRefused(INDArray rows, Supplier<Layer> ours, Supplier<Layer> left) {
        return shapes().contain(rows)
                ? left.get()
                : attempt(rows, rewinding(), ours).orElseGet(left);
    }

    private <T> Optional<T> attempt(INDArray given, Runnable rewinding, Supplier<T> ours) {
        try {
            return Optional.of(ours.get());
        } catch (RefusedShape e) {
            rewinding.run();
            shapes().add("Layer \"" + setup.name() + "\"", e, given);
            return Optional.empty();
        }
    }

    private RefusedShapes shapes() {
        return setup.context().check().refused();
    }

    INDArray forward(boolean training, LayerWorkspaceMgr workspaceMgr, TwinPasses.Forward computation) {
        LayerWorkspaceMgr inner =
                begin(ArrayType.FF_WORKING_MEM, training, setup.output() != DataType.FLOAT, workspaceMgr);
        INDArray output =
                twin.casting().cast(computation.run(inner), setup.output(), workspaceMgr, ArrayType.ACTIVATIONS);
        if (training) {
            setup.observeOutput(output);
        }
        return inWorkspace(output, ArrayType.ACTIVATIONS, workspaceMgr);
    }

    /** Some of DL4J's layers return what they made of their input, outside of workspaces, where it is here. */
    private static INDArray inWorkspace(INDArray result, ArrayType place, LayerWorkspaceMgr workspaceMgr) {
        boolean moves = !result.isAttached() && LayerWorkspaces.isOpen(workspaceMgr, place);
        return moves ? workspaceMgr.dup(place, result, result.ordering()) : result;
    }

    /**
     * Returns what takes back the random numbers of a twin that refuses, where the master draws them again. Those are
     * RReLU's slopes, and noisy biases in inference, which no layer keeps.
     */
    Runnable rewinding(boolean training) {
        if (!(training ? drawsSlopes : isNoisy)) {
            return () -> {};
        }
        Runnable rewinding = rewinding();
        boolean hadNoise = HiddenFields.hasNoise(twin.compute());
        return () -> {
            rewinding.run();
            if (!hadNoise) {
                twin.compute().clearNoiseWeightParams();
            }
        };
    }

    /** Returns the same for a backward pass, in which only output layers draw: they have none before it. */
    Runnable rewindingBackward() {
        return master instanceof IOutputLayer ? rewinding(true) : () -> {};
    }

    /** Returns what takes back the random numbers that are drawn from now on. */
    private static Runnable rewinding() {
        Random random = Nd4j.getRandom();
        long root = random.rootState();
        long node = random.nodeState();
        return () -> random.setStates(root, node);
    }

    /** Runs backward where the master has run forward. */
    Pair<Gradient, INDArray> backward(
            INDArray epsilon, LayerWorkspaceMgr workspaceMgr, TwinPasses.Backward computation) {
        INDArray own = twin.casting().cast(epsilon, DataType.FLOAT, workspaceMgr, ArrayType.BP_WORKING_MEM);
        Pair<Gradient, INDArray> result = computation.run(own, workspaceMgr);
        passes.unscaleParameterGradients(1);
        INDArray handedBack = passes.handBack(result.getSecond(), workspaceMgr);
        INDArray next = handedBack == null ? null : inWorkspace(handedBack, ArrayType.ACTIVATION_GRAD, workspaceMgr);
        setup.observeInputGradient(next);
        return new Pair<>(result.getFirst(), next);
    }

    /**
     * Runs backward where the twin ran forward, or neither did: most of DL4J's layers begin a backward pass with the
     * input alone.
     */
    Pair<Gradient, INDArray> backwardAlone(
            INDArray epsilon, LayerWorkspaceMgr workspaceMgr, TwinPasses.Backward computation) {
        begin(ArrayType.BP_WORKING_MEM, false, false, workspaceMgr);
        if (master instanceof BidirectionalLayer || master instanceof BatchNormalization) {
            master.activate(true, LayerWorkspaceMgr.noWorkspaces());
        }
        return backward(epsilon, workspaceMgr, computation);
    }

    /** Sets the master's input for a score, and returns the workspaces for it. */
    LayerWorkspaceMgr beginScore(boolean training, LayerWorkspaceMgr workspaceMgr) {
        return begin(ArrayType.FF_WORKING_MEM, training, false, workspaceMgr);
    }

    private LayerWorkspaceMgr begin(
            ArrayType working, boolean training, boolean castsOut, LayerWorkspaceMgr workspaceMgr) {
        input.settle(workspaceMgr, working);
        LayerWorkspaceMgr inner = input.handToMaster(workspaceMgr, working, training, castsOut);
        INDArray mask = master.getMaskArray();
        if (mask != null && twin.outputType() != DataType.FLOAT) {
            master.setMaskArray(mask.castTo(DataType.FLOAT));
        }
        HiddenFields.moveNoise(twin.compute(), master);
        return inner;
    }
}
