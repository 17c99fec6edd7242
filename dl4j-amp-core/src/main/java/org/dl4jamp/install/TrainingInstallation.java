package org.dl4jamp.install;

import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.DoubleSupplier;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.api.layers.LayerConstraint;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.wrapper.BaseWrapperLayer;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.layer.FloatBackwardVertex;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.UnscalingVertex;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.VertexPlace;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.step.TrainingStep;
import org.dl4jamp.twin.Twin;

/** The installation of mixed precision for training, which includes the updater. */
public final class TrainingInstallation extends Installation {
    private static final Set<ElementWiseVertex.Op> COMBINE_WITH_GRADIENTS =
            EnumSet.of(ElementWiseVertex.Op.Product, ElementWiseVertex.Op.Max);

    private final ResolvedConfig settings;
    private final GradientScale gradientScale;
    private final TrainingStep step;
    private Layer anchor;

    /** @param lossScale the loss scale of the next backward pass */
    public TrainingInstallation(
            AmpNetwork network, ResolvedConfig settings, DoubleSupplier lossScale, TrainingStep step) {
        super(network, settings.plan(), step, "MixedPrecision.close");
        this.settings = settings;
        this.gradientScale = new GradientScale(lossScale, plan.precision() == Precision.HALF);
        this.step = step;
    }

    @Override
    ComputeEngine.EngineSession open(ComputeEngine engine, long largestLayer) {
        network.gradients();
        anchor = anchor();
        return engine.session(largestLayer, settings.config().optLevel() != OptLevel.O3);
    }

    @Override
    void begin() {
        step.use(session.stepKernels(), session::losesSpecialNumbers);
        step.installUpdater();
    }

    @Override
    void end() {
        step.removeUpdater();
    }

    @Override
    Optional<TwinLayer> wrapper(String name) {
        Layer master = masters.get(name);
        boolean untouched = wrappers.isUntouched(name);
        if (untouched && !isAlwaysWrapped(master) && (master.numParams() == 0 || !plan.anyHalf())) {
            return Optional.empty();
        }
        Twin twin =
                untouched ? Wrappers.itself(master, session.casting()) : session.twin(wrappers.request(name, master));
        return Optional.of(wrappers.wrapper(name, master, twin, gradientScale));
    }

    /** Layers compute for themselves in a pause. Those that notify the step, or that it has to stop, need a wrapper. */
    @Override
    Optional<TwinLayer> wrapperInPause(String name) {
        return Optional.of(masters.get(name))
                .filter(this::isAlwaysWrapped)
                .map(master -> wrappers.floatWrapper(name, master));
    }

    /**
     * Returns whether a layer has a wrapper in FP32 and in pauses, too. One layer of a network has: by its wrapper the
     * owner is found when DL4J has replaced the updater, in {@code setLearningRate} for example.
     */
    private boolean isAlwaysWrapped(Layer master) {
        return notifies(master) || master == anchor;
    }

    private static boolean notifies(Layer master) {
        return master instanceof IOutputLayer || isConstrained(master.conf().getLayer());
    }

    /** Returns the last layer with parameters, if no layer notifies the step; else null. */
    private Layer anchor() {
        return masters.values().stream().anyMatch(TrainingInstallation::notifies)
                ? null
                : masters.values().stream()
                        .filter(layer -> layer.numParams() > 0)
                        .reduce((first, second) -> second)
                        .orElse(null);
    }

    /**
     * Returns whether the wrapper has to keep DL4J from moving the parameters of a skipped step. Looks into layers that
     * wrap others, which DL4J calls for their constraints in their turn.
     */
    private static boolean isConstrained(org.deeplearning4j.nn.conf.layers.Layer layer) {
        List<LayerConstraint> constraints = layer.getConstraints();
        if (constraints != null && !constraints.isEmpty()) {
            return true;
        }
        if (layer instanceof Bidirectional both) {
            return isConstrained(both.getFwd()) || isConstrained(both.getBwd());
        }
        return layer instanceof BaseWrapperLayer wrapper && isConstrained(wrapper.getUnderlying());
    }

    @Override
    Optional<? extends GraphVertex> vertex(VertexPlace place) {
        GraphVertex master = place.current().get();
        if (master.numParams() > 0) {
            return Optional.of(new UnscalingVertex(master, gradientScale));
        }
        if (wrappers.isByEngine(place.name())) {
            return Optional.of(session.vertex(wrappers.request(place)));
        }
        return plan.row(place.name()).output() == Precision.HALF
                        && network.graph().node(place.name()).vertex() instanceof ElementWiseVertex elements
                        && COMBINE_WITH_GRADIENTS.contains(elements.getOp())
                ? Optional.of(new FloatBackwardVertex(master))
                : Optional.empty();
    }
}
