package org.dl4jamp.install;

import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
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
import org.dl4jamp.network.LayerPlace;
import org.dl4jamp.network.VertexPlace;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.step.TrainingStep;
import org.dl4jamp.twin.LayerContext;
import org.dl4jamp.twin.Twin;

/** Puts wrappers, vertex types and updater of a plan into a network, and takes them out again. */
public final class Installation {
    private static final Set<ElementWiseVertex.Op> COMBINE_WITH_GRADIENTS =
            EnumSet.of(ElementWiseVertex.Op.Product, ElementWiseVertex.Op.Max);

    private final AmpNetwork network;
    private final PrecisionPlan plan;
    private final GradientScale gradientScale;
    private final TrainingStep step;
    private final Replacements replacements;
    private final Wrappers wrappers;
    private ComputeEngine.EngineSession session;
    private Layer anchor;

    public Installation(AmpNetwork network, PrecisionPlan plan, GradientScale gradientScale, TrainingStep step) {
        this.network = network;
        this.plan = plan;
        this.gradientScale = gradientScale;
        this.step = step;
        this.replacements = new Replacements(network);
        this.wrappers = new Wrappers(network, plan, step);
    }

    /** Installs everything or, if that fails, nothing. */
    public void install(ComputeEngine engine, boolean masterWeights) {
        try {
            network.gradients();
            anchor = anchor();
            session = engine.session(wrappers.largestLayer(), masterWeights);
            replacements.onUndo(session::close);
            replacements.onUndo(step::removeUpdater);
            LayerContexts neighbours = new LayerContexts(network, plan, engine, session);
            Map<LayerPlace, TwinLayer> made = new LinkedHashMap<>();
            for (LayerPlace place : network.layers()) {
                TwinLayer wrapper = wrapper(place, neighbours.of(place.name()));
                if (wrapper != null) {
                    made.put(place, wrapper);
                }
            }
            made.forEach((place, wrapper) ->
                    replacements.put(place, wrapper, () -> wrapperInPause(wrapper, neighbours.of(place.name()))));
            replacements.setVertexTypes(plan, step.gate());
            network.vertices().forEach(place -> put(place, engine, neighbours.of(place.name())));
            step.use(session.stepKernels(), session::losesSpecialNumbers);
            step.installUpdater();
            step.gate().open("enabled", () -> {});
        } catch (RuntimeException | Error e) {
            remove();
            throw e;
        }
    }

    private TwinLayer wrapper(LayerPlace place, LayerContext surroundings) {
        Layer master = place.current().get();
        boolean untouched = wrappers.isUntouched(place.name());
        if (untouched && !isAlwaysWrapped(master) && (master.numParams() == 0 || !plan.anyHalf())) {
            return null;
        }
        Twin twin = untouched
                ? Wrappers.itself(master, session.casting())
                : session.twin(wrappers.request(place.name(), master, surroundings));
        return wrappers.wrapper(place.name(), master, twin, surroundings, gradientScale);
    }

    /**
     * Returns a wrapper for a layer in a pause, when layers compute for themselves. Layers that notify the step, or
     * that it has to stop, need one.
     */
    private Optional<TwinLayer> wrapperInPause(TwinLayer mixed, LayerContext surroundings) {
        return Optional.of(mixed.master())
                .filter(this::isAlwaysWrapped)
                .map(master -> wrappers.floatWrapper(master, surroundings));
    }

    /**
     * Returns whether a layer has a wrapper in FP32 and in pauses, too. One layer of a network has: by its wrapper the
     * owner is found when DL4J has replaced the updater, in {@code setLearningRate} for example.
     */
    private boolean isAlwaysWrapped(Layer master) {
        return notifies(master) || master == anchor;
    }

    private static boolean notifies(Layer master) {
        return master instanceof IOutputLayer || isConstrained(master);
    }

    /** Returns the last layer with parameters, if no layer notifies the step; else null. */
    private Layer anchor() {
        List<Layer> masters =
                network.layers().stream().map(place -> place.current().get()).toList();
        return masters.stream().anyMatch(Installation::notifies)
                ? null
                : masters.stream()
                        .filter(layer -> layer.numParams() > 0)
                        .reduce((first, second) -> second)
                        .orElse(null);
    }

    /** Returns whether the wrapper has to keep DL4J from moving the parameters of a skipped step. */
    private static boolean isConstrained(Layer layer) {
        return isConstrained(layer.conf().getLayer());
    }

    /** Looks into layers that wrap others, which DL4J calls for their constraints in their turn. */
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

    private void put(VertexPlace place, ComputeEngine engine, LayerContext surroundings) {
        GraphVertex master = place.current().get();
        if (master.numParams() > 0) {
            replacements.put(place, new UnscalingVertex(master, gradientScale));
        } else if (wrappers.isOn(engine, place.name())) {
            replacements.put(place, session.vertex(wrappers.request(place, surroundings)));
        } else if (plan.row(place.name()).output() == Precision.HALF
                && network.graph().node(place.name()).vertex() instanceof ElementWiseVertex elements
                && COMBINE_WITH_GRADIENTS.contains(elements.getOp())) {
            replacements.put(place, new FloatBackwardVertex(master));
        }
    }

    /**
     * Gives the network its own layers and vertices back for a while. The engine keeps what it has made, and the
     * updater stays.
     */
    void pause() {
        replacements.pause();
    }

    /** Ends a pause. */
    void resume() {
        replacements.resume();
    }

    /** Takes everything out again, in the reverse order, whatever fails on the way. */
    public void remove() {
        replacements.undo();
    }
}
