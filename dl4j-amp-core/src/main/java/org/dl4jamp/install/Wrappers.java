package org.dl4jamp.install;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.TwinRequest;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.StepGuard;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.TwinSetup;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.Place;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.policy.PrecisionPlanner;
import org.dl4jamp.twin.Casting;
import org.dl4jamp.twin.LayerContext;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;

/** The wrappers of a plan's layers, for training and for inference. */
final class Wrappers {
    private final AmpNetwork network;
    private final PrecisionPlan plan;
    private final StepGuard guard;
    private final String engine;
    private final LayerContexts contexts;

    Wrappers(
            AmpNetwork network,
            PrecisionPlan plan,
            StepGuard guard,
            ComputeEngine engine,
            ComputeEngine.EngineSession session) {
        this.network = network;
        this.plan = plan;
        this.guard = guard;
        this.engine = engine.name();
        this.contexts = new LayerContexts(network, plan, engine, session);
    }

    boolean isUntouched(String name) {
        return plan.row(name).engine().equals(PrecisionPlanner.UNTOUCHED);
    }

    /** Returns the request for the twin of a layer. */
    TwinRequest request(String name, Layer master) {
        PrecisionPlan.Row row = plan.row(name);
        return new TwinRequest(
                name,
                master,
                row.precision(),
                storage(),
                row.input().dataType().orElseThrow(),
                emitted(name),
                contexts.of(name),
                plan.fusion(name));
    }

    /** Returns whether the engine computes a vertex of the plan. */
    boolean isByEngine(String name) {
        return !isUntouched(name) && plan.row(name).engine().equals(engine);
    }

    /** Returns the request for a vertex that the engine computes. */
    VertexRequest request(Place<GraphVertex> place) {
        return new VertexRequest(
                place.name(),
                place.current().get(),
                network.graph().node(place.name()).vertex(),
                emitted(place.name()),
                contexts.of(place.name()),
                plan.fusion(place.name()),
                guard.gate());
    }

    /**
     * Returns a layer that computes for itself, in FP32. Input that isn't floating-point isn't cast, as without mixed
     * precision.
     */
    static Twin itself(Layer master, Casting casting) {
        return new Twin(master, DataType.FLOAT, false, Twin.Retention.CAST_INPUT, null, Twin.Weights.MASTER)
                .with(new Casting.OfRowNumbers(casting));
    }

    /** Returns the setup of a wrapper with the input and output types of the plan. */
    TwinSetup setup(String name, Layer master, Twin twin, GradientScale scale) {
        return new TwinSetup(master, twin, storage(), emitted(name), contexts.of(name), scale, guard);
    }

    private DataType storage() {
        return plan.precision().dataType().orElseThrow();
    }

    private DataType emitted(String name) {
        return plan.row(name).output().dataType().orElseThrow();
    }

    /** Returns a wrapper in which a layer computes for itself, with FP32 input and output, in any pass. */
    TwinLayer floatWrapper(String name, Layer master) {
        Twin twin = itself(master, Casting.ND4J);
        LayerContext surroundings = contexts.of(name).withoutTurn();
        return new TwinSetup(master, twin, DataType.FLOAT, DataType.FLOAT, surroundings, GradientScale.none(), guard)
                .wrapper();
    }
}
