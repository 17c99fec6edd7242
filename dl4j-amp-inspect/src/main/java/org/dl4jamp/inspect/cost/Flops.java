package org.dl4jamp.inspect.cost;

import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.FrozenVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.L2NormalizeVertex;
import org.deeplearning4j.nn.conf.graph.L2Vertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.PoolHelperVertex;
import org.deeplearning4j.nn.conf.graph.PreprocessorVertex;
import org.deeplearning4j.nn.conf.graph.ReshapeVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.graph.ShiftVertex;
import org.deeplearning4j.nn.conf.graph.StackVertex;
import org.deeplearning4j.nn.conf.graph.SubsetVertex;
import org.deeplearning4j.nn.conf.graph.UnstackVertex;
import org.deeplearning4j.nn.conf.graph.rnn.DuplicateToTimeSeriesVertex;
import org.deeplearning4j.nn.conf.graph.rnn.LastTimeStepVertex;
import org.deeplearning4j.nn.conf.graph.rnn.ReverseTimeSeriesVertex;
import org.dl4jamp.policy.LayerTable;
import org.dl4jamp.policy.NetworkGraph.Node;

/**
 * Floating-point operations of a forward pass, for one example. A multiplication and an addition are two. Biases,
 * pooling, sums and the gates' products of recurrent layers count. Activation functions, dropout, losses, copies and
 * conversions don't.
 */
public final class Flops {
    /** Vertices that copy and cut. */
    private static final Set<Class<?>> MOVING = Set.of(
            MergeVertex.class,
            StackVertex.class,
            UnstackVertex.class,
            SubsetVertex.class,
            ReshapeVertex.class,
            PoolHelperVertex.class,
            PreprocessorVertex.class,
            DuplicateToTimeSeriesVertex.class,
            LastTimeStepVertex.class,
            ReverseTimeSeriesVertex.class);

    private Flops() {}

    /**
     * Returns the operations of a node.
     *
     * @return empty if there is no formula for its class, or its shapes aren't known
     */
    public static OptionalLong of(Node node, Shapes shapes) {
        List<Shape> inputs = shapes.inputs(node.name());
        if (inputs.isEmpty()) {
            return OptionalLong.empty();
        }
        Shape output = shapes.output(node.name()).orElseThrow();
        return node.isLayer()
                ? LayerFlops.of(node.layer(), inputs.get(0), output)
                : ofVertex(node.vertex(), inputs, output);
    }

    private static OptionalLong ofVertex(GraphVertex vertex, List<Shape> inputs, Shape output) {
        if (vertex instanceof FrozenVertex frozen) {
            return ofVertex(frozen.getUnderlying(), inputs, output);
        }
        if (!LayerTable.lists(vertex.getClass())) {
            return OptionalLong.empty();
        }
        if (vertex instanceof ElementWiseVertex elementWise) {
            boolean average = elementWise.getOp() == ElementWiseVertex.Op.Average;
            return OptionalLong.of(output.elements() * (average ? inputs.size() : inputs.size() - 1));
        }
        if (vertex instanceof AttentionVertex attention) {
            return OptionalLong.of(ComposedFlops.of(attention, inputs));
        }
        if (vertex instanceof ScaleVertex || vertex instanceof ShiftVertex) {
            return OptionalLong.of(output.elements());
        }
        // A square and a sum, and a subtraction before or a division behind.
        if (vertex instanceof L2Vertex || vertex instanceof L2NormalizeVertex) {
            return OptionalLong.of(3 * inputs.get(0).elements());
        }
        return MOVING.contains(vertex.getClass()) ? OptionalLong.of(0) : OptionalLong.empty();
    }
}
