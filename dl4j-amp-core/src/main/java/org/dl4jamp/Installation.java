package org.dl4jamp;

import java.util.ArrayDeque;
import java.util.Deque;
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
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.TwinRequest;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.layer.FloatBackwardVertex;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.LossScalingLayer;
import org.dl4jamp.layer.RecurrentTwinLayer;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.UnscalingVertex;
import org.dl4jamp.layer.standin.StandIns;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.LayerPlace;
import org.dl4jamp.network.VertexPlace;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.step.TrainingStep;
import org.dl4jamp.twin.DelegatingVertex;
import org.dl4jamp.twin.Surroundings;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.buffer.DataType;

/** Puts wrappers, vertex types and updater of a plan into a network, and takes them out again. */
final class Installation {
    /** What the plan calls the engine of a layer that is left as it is. */
    private static final String UNTOUCHED = "dl4j";

    private static final Set<ElementWiseVertex.Op> COMBINE_WITH_GRADIENTS =
            EnumSet.of(ElementWiseVertex.Op.Product, ElementWiseVertex.Op.Max);

    private final AmpNetwork network;
    private final PrecisionPlan plan;
    private final GradientScale gradientScale;
    private final TrainingStep step;
    private final Deque<Runnable> undo = new ArrayDeque<>();
    private ComputeEngine.EngineSession session;

    Installation(AmpNetwork network, PrecisionPlan plan, GradientScale gradientScale, TrainingStep step) {
        this.network = network;
        this.plan = plan;
        this.gradientScale = gradientScale;
        this.step = step;
    }

    /** Installs everything or, if that fails, nothing. */
    void install(ComputeEngine engine, boolean masterWeights) {
        try {
            network.gradients();
            undo.push(step::removeUpdater);
            session = engine.session(largestLayer(), masterWeights);
            Neighbours neighbours = new Neighbours(network.graph(), plan, engine.name());
            Map<LayerPlace, TwinLayer> wrappers = new LinkedHashMap<>();
            for (LayerPlace place : network.layers()) {
                TwinLayer wrapper = wrapper(place, neighbours.of(place.name()));
                if (wrapper != null) {
                    wrappers.put(place, wrapper);
                }
            }
            wrappers.forEach(this::put);
            setVertexTypes();
            network.vertices().forEach(place -> put(place, engine.name(), neighbours.of(place.name())));
            step.use(session.stepKernels());
            step.installUpdater();
        } catch (RuntimeException | Error e) {
            remove();
            throw e;
        }
    }

    private long largestLayer() {
        return network.layers().stream()
                .filter(place -> plan.row(place.name()).precision().isHalf())
                .mapToLong(place -> place.current().get().numParams())
                .max()
                .orElse(0);
    }

    private TwinLayer wrapper(LayerPlace place, Surroundings surroundings) {
        Layer master = place.current().get();
        PrecisionPlan.Row row = plan.row(place.name());
        boolean output = master instanceof IOutputLayer;
        boolean untouched = row.engine().equals(UNTOUCHED);
        if (untouched && !output && !isConstrained(master) && (master.numParams() == 0 || !plan.anyHalf())) {
            return null;
        }
        DataType storage = plan.precision().dataType().orElseThrow();
        DataType given = row.input().dataType().orElseThrow();
        DataType emitted = row.output().dataType().orElseThrow();
        Twin twin = untouched
                ? new Twin(master, DataType.FLOAT, false, Twin.Retention.CAST_INPUT, null, Twin.Weights.MASTER)
                        .with(session.casting())
                : session.twin(new TwinRequest(
                        place.name(),
                        master,
                        row.precision(),
                        storage,
                        given,
                        emitted,
                        surroundings,
                        plan.fusion(place.name())));
        if (output) {
            return new LossScalingLayer(master, twin, storage, emitted, surroundings, gradientScale, step);
        }
        return RecurrentTwinLayer.isRecurrent(master)
                ? new RecurrentTwinLayer(master, twin, storage, emitted, surroundings, gradientScale, step)
                : new TwinLayer(master, twin, storage, emitted, surroundings, gradientScale, step);
    }

    /** Whether the wrapper has to keep DL4J from moving the parameters of a skipped step. */
    private static boolean isConstrained(Layer layer) {
        List<LayerConstraint> constraints = layer.conf().getLayer().getConstraints();
        return constraints != null && !constraints.isEmpty();
    }

    private void put(LayerPlace place, TwinLayer wrapper) {
        Layer master = wrapper.master();
        moveRecurrentState(master, wrapper.twin().compute());
        Layer standIn = StandIns.layer(wrapper);
        place.replace().accept(standIn);
        undo.push(() -> {
            moveRecurrentState(wrapper.twin().compute(), master);
            placeOf(standIn, place).ifPresent(present -> present.replace().accept(master));
        });
    }

    private static void moveRecurrentState(Layer from, Layer to) {
        if (from instanceof BaseWrapperLayer fromWrapper && to instanceof BaseWrapperLayer toWrapper) {
            moveRecurrentState(fromWrapper.getUnderlying(), toWrapper.getUnderlying());
        }
        if (from != to && from instanceof BaseRecurrentLayer<?> source && to instanceof BaseRecurrentLayer<?> target) {
            target.rnnSetPreviousState(source.rnnGetPreviousState());
            target.rnnSetTBPTTState(source.rnnGetTBPTTState());
        }
    }

    private void setVertexTypes() {
        for (PrecisionPlan.Row row : plan.rows()) {
            if (row.output().isHalf()
                    && network.layers().stream().noneMatch(place -> place.name().equals(row.name()))) {
                network.setVertexType(row.name(), row.output().dataType().orElseThrow())
                        .ifPresent(before -> undo.push(() -> network.setVertexType(row.name(), before)));
            }
        }
    }

    private void put(VertexPlace place, String engine, Surroundings surroundings) {
        GraphVertex master = place.current().get();
        PrecisionPlan.Row row = plan.row(place.name());
        if (master.numParams() > 0) {
            replace(place, new UnscalingVertex(master, gradientScale));
        } else if (row.engine().equals(engine) && !engine.equals(UNTOUCHED)) {
            DataType type = row.output().dataType().orElseThrow();
            replace(
                    place,
                    session.vertex(new VertexRequest(
                            place.name(),
                            master,
                            network.graph().node(place.name()).vertex(),
                            type,
                            surroundings,
                            plan.fusion(place.name()),
                            step.gate())));
        } else if (row.output() == Precision.HALF
                && network.graph().node(place.name()).vertex() instanceof ElementWiseVertex elements
                && COMBINE_WITH_GRADIENTS.contains(elements.getOp())) {
            replace(place, new FloatBackwardVertex(master));
        }
    }

    private void replace(VertexPlace place, GraphVertex vertex) {
        GraphVertex master = place.current().get();
        place.replace().accept(vertex instanceof DelegatingVertex wrapper ? StandIns.vertex(wrapper) : vertex);
        undo.push(() -> place.replace().accept(master));
    }

    /** Where a stand-in stands now: others may have put it into a wrapper of theirs, which then stays. */
    private Optional<LayerPlace> placeOf(Layer standIn, LayerPlace before) {
        return before.current().get() == standIn
                ? Optional.of(before)
                : network.layers().stream()
                        .filter(place -> place.current().get() == standIn)
                        .findFirst();
    }

    /** Takes everything out again, in the reverse order, whatever fails on the way. */
    void remove() {
        RuntimeException failure = null;
        while (!undo.isEmpty()) {
            try {
                undo.pop().run();
            } catch (RuntimeException e) {
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
            }
        }
        if (session != null) {
            session.close();
        }
        if (failure != null) {
            throw failure;
        }
    }
}
