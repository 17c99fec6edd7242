package org.dl4jamp.randomized;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.FrozenVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.L2NormalizeVertex;
import org.deeplearning4j.nn.conf.graph.L2Vertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
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
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.preprocessor.CnnToFeedForwardPreProcessor;
import org.dl4jamp.randomized.Part.Family;
import org.dl4jamp.randomized.Part.Node;
import org.dl4jamp.randomized.Part.VertexMaker;
import org.dl4jamp.randomized.Part.VertexPart;
import org.dl4jamp.randomized.Part.Wired;

/** Vertices of graphs. Left out: PoolHelperVertex, of which DL4J computes a wrong type. */
final class Vertices {
    private static final VertexPart ELEMENT_WISE = new VertexPart("elementWise", Vertices::elementWise);
    private static final VertexPart MERGE = new VertexPart("merge", Vertices::merge);

    static final List<VertexPart> ALL = List.of(
            ELEMENT_WISE,
            ELEMENT_WISE,
            ELEMENT_WISE,
            MERGE,
            MERGE,
            new VertexPart("subset", Vertices::subset),
            new VertexPart("scale", one(node -> true, draw -> new ScaleVertex(draw.real(-1.5, 1.5)))),
            new VertexPart("shift", one(node -> true, draw -> new ShiftVertex(draw.real(-1, 1)))),
            new VertexPart("stack", Vertices::stack),
            new VertexPart("unstack", Vertices::unstack),
            new VertexPart("reshape", Vertices::reshape),
            new VertexPart("preprocessor", Vertices::preprocessor),
            new VertexPart("l2", Vertices::l2),
            new VertexPart(
                    "l2Normalize", one(node -> node.family() == Family.VECTORS, draw -> new L2NormalizeVertex())),
            new VertexPart("lastTimeStep", Vertices::lastTimeStep),
            new VertexPart("duplicateToTimeSeries", Vertices::duplicate),
            new VertexPart("reverseTimeSeries", Vertices::reverse),
            new VertexPart(
                    "frozen",
                    one(
                            node -> node.name().startsWith("in"),
                            draw -> new FrozenVertex(new ScaleVertex(draw.real(0.5, 1.5))))),
            new VertexPart("attention", Vertices::attention),
            new VertexPart("gate", Vertices::gate));

    private Vertices() {}

    private static Optional<Node> any(Draw draw, List<Node> nodes, Predicate<Node> suitable) {
        List<Node> choices = nodes.stream().filter(suitable).toList();
        if (choices.isEmpty()) {
            return Optional.empty();
        }
        // The newest one more often: networks become deep rather than wide.
        return Optional.of(draw.chance(0.6) ? choices.get(choices.size() - 1) : draw.from(choices));
    }

    private static VertexMaker one(Predicate<Node> suitable, Function<Draw, GraphVertex> vertex) {
        return (draw, nodes) -> any(draw, nodes, suitable).flatMap(node -> Wired.of(vertex.apply(draw), List.of(node)));
    }

    private static Optional<List<Node>> several(Draw draw, List<Node> nodes, int most) {
        Optional<Node> first =
                any(draw, nodes, node -> nodes.stream().anyMatch(other -> !other.equals(node) && other.isLike(node)));
        return first.map(chosen -> {
            List<Node> others = nodes.stream()
                    .filter(node -> !node.equals(chosen) && node.isLike(chosen))
                    .toList();
            List<Node> inputs = new ArrayList<>(List.of(chosen));
            int count = Math.min(draw.between(1, most - 1), others.size());
            for (int i = 0; i < count; i++) {
                inputs.add(draw.between(0, 1), others.get((i + draw.between(0, 1)) % others.size()));
            }
            return inputs;
        });
    }

    private static Optional<Wired> elementWise(Draw draw, List<Node> nodes) {
        ElementWiseVertex.Op op = draw.chance(0.5) ? ElementWiseVertex.Op.Add : draw.of(ElementWiseVertex.Op.values());
        return several(draw, nodes, op == ElementWiseVertex.Op.Subtract ? 2 : 3)
                .flatMap(inputs -> Wired.of(new ElementWiseVertex(op), inputs));
    }

    /** An operation with one number for all features, or for all time steps of a feature: types are those of both. */
    private static Optional<Wired> gate(Draw draw, List<Node> nodes) {
        List<Node> single = nodes.stream()
                .filter(node -> channels(node.type()) == 1
                        && (node.family() == Family.VECTORS || node.family() == Family.SEQUENCES))
                .toList();
        return any(draw, single, node -> true).flatMap(part -> any(draw, nodes, whole -> isWholeOf(whole, part))
                .flatMap(whole -> Wired.of(
                        new ElementWiseVertex(draw.of(
                                ElementWiseVertex.Op.Add,
                                ElementWiseVertex.Op.Subtract,
                                ElementWiseVertex.Op.Product,
                                ElementWiseVertex.Op.Average)),
                        List.of(whole, part))));
    }

    private static boolean isWholeOf(Node whole, Node part) {
        boolean alike = whole.family() == part.family()
                && whole.copies() == part.copies()
                && whole.steps() == part.steps()
                && channels(whole.type()) > 1;
        if (alike && whole.type() instanceof InputType.InputTypeRecurrent one) {
            InputType.InputTypeRecurrent other = (InputType.InputTypeRecurrent) part.type();
            return one.getFormat() == RNNFormat.NCW
                    && other.getFormat() == RNNFormat.NCW
                    && one.getTimeSeriesLength() == other.getTimeSeriesLength();
        }
        return alike;
    }

    private static Optional<Wired> merge(Draw draw, List<Node> nodes) {
        // Of volumes DL4J merges the second axis, wherever the channels are.
        List<Node> mergeable = nodes.stream()
                .filter(node -> !(node.type() instanceof InputType.InputTypeConvolutional3D volumes)
                        || volumes.getDataFormat() == Convolution3D.DataFormat.NCDHW)
                .toList();
        return several(draw, mergeable, 3).flatMap(inputs -> Wired.of(new MergeVertex(), inputs));
    }

    private static long channels(InputType type) {
        return switch (type.getType()) {
            case FF -> ((InputType.InputTypeFeedForward) type).getSize();
            case RNN -> ((InputType.InputTypeRecurrent) type).getSize();
            case CNN -> ((InputType.InputTypeConvolutional) type).getChannels();
            default -> 0;
        };
    }

    private static Optional<Wired> subset(Draw draw, List<Node> nodes) {
        return any(draw, nodes, node -> channels(node.type()) > 1).flatMap(node -> {
            int from = draw.between(0, (int) channels(node.type()) - 2);
            int to = draw.between(from, (int) channels(node.type()) - 1);
            return Wired.of(new SubsetVertex(from, to), List.of(node));
        });
    }

    private static Optional<Wired> stack(Draw draw, List<Node> nodes) {
        return several(draw, nodes, 2)
                .map(inputs -> new Wired(
                        new StackVertex(),
                        inputs,
                        inputs.stream().mapToInt(Node::copies).sum()));
    }

    private static Optional<Wired> unstack(Draw draw, List<Node> nodes) {
        return any(draw, nodes, node -> node.copies() > 1)
                .map(node -> new Wired(
                        new UnstackVertex(draw.between(0, node.copies() - 1), node.copies()), List.of(node), 1));
    }

    /** Reshapes images to vectors; ND4J finds the minibatch's size. */
    private static Optional<Wired> reshape(Draw draw, List<Node> nodes) {
        return any(
                        draw,
                        nodes,
                        node -> node.family() == Family.VECTORS && node.steps() == 0 && channels(node.type()) % 2 == 0)
                .flatMap(node -> Wired.of(new ReshapeVertex(-1, 2, 1, (int) channels(node.type()) / 2), List.of(node)));
    }

    private static Optional<Wired> preprocessor(Draw draw, List<Node> nodes) {
        return any(draw, nodes, node -> node.type() instanceof InputType.InputTypeConvolutional)
                .flatMap(node -> {
                    InputType.InputTypeConvolutional type = (InputType.InputTypeConvolutional) node.type();
                    return Wired.of(
                            new PreprocessorVertex(new CnnToFeedForwardPreProcessor(
                                    type.getHeight(), type.getWidth(), type.getChannels(), type.getFormat())),
                            List.of(node));
                });
    }

    private static Optional<Wired> l2(Draw draw, List<Node> nodes) {
        List<Node> vectors =
                nodes.stream().filter(node -> node.family() == Family.VECTORS).toList();
        return several(draw, vectors, 2)
                .filter(inputs -> !inputs.get(0).equals(inputs.get(1)))
                .flatMap(inputs -> Wired.of(new L2Vertex(), inputs));
    }

    /** Returns the network's input with the mask that counts: DL4J has no rule for others. */
    private static Optional<String> maskInput(List<Node> nodes) {
        return nodes.stream()
                .filter(node -> node.name().startsWith("in") && node.family() == Family.SEQUENCES)
                .map(Node::name)
                .findFirst();
    }

    private static boolean isAsLongAsInputs(Node node) {
        return node.type() instanceof InputType.InputTypeRecurrent sequence
                && sequence.getTimeSeriesLength() == NetworkAssembly.STEPS
                && sequence.getFormat() == RNNFormat.NCW;
    }

    private static Optional<Wired> lastTimeStep(Draw draw, List<Node> nodes) {
        return maskInput(nodes).flatMap(input -> any(draw, nodes, Vertices::isAsLongAsInputs)
                .flatMap(node -> Wired.of(new LastTimeStepVertex(input), List.of(node))));
    }

    private static Optional<Wired> duplicate(Draw draw, List<Node> nodes) {
        return maskInput(nodes).flatMap(input -> any(
                        draw, nodes, node -> node.family() == Family.VECTORS && node.copies() == 1 && node.steps() == 0)
                .flatMap(node -> Wired.of(new DuplicateToTimeSeriesVertex(input), List.of(node))));
    }

    private static Optional<Wired> reverse(Draw draw, List<Node> nodes) {
        Optional<String> input = draw.chance(0.5) ? maskInput(nodes) : Optional.empty();
        return any(draw, nodes, Vertices::isAsLongAsInputs)
                .flatMap(node -> Wired.of(
                        input.map(ReverseTimeSeriesVertex::new).orElseGet(ReverseTimeSeriesVertex::new),
                        List.of(node)));
    }

    /** Keys and values are as many. Queries may be of another length. */
    private static Optional<Wired> attention(Draw draw, List<Node> nodes) {
        return any(draw, nodes, node -> node.family() == Family.SEQUENCES).flatMap(keys -> any(
                        draw, nodes, node -> node.family() == Family.SEQUENCES && node.copies() == keys.copies())
                .map(queries -> attention(draw, queries, keys))
                .orElseGet(Optional::empty));
    }

    private static Optional<Wired> attention(Draw draw, Node queries, Node keys) {
        long size = channels(keys.type());
        boolean projects = channels(queries.type()) != size || draw.chance(0.7);
        AttentionVertex.Builder builder = new AttentionVertex.Builder()
                .nInKeys(size)
                .nInQueries(channels(queries.type()))
                .nInValues(size)
                .projectInput(projects);
        if (projects) {
            builder.nHeads(draw.between(1, 3)).headSize(draw.between(1, 4)).nOut(draw.between(2, 3));
        } else {
            builder.nHeads(1).nOut(size);
        }
        return Wired.of(builder.build(), List.of(queries, keys, keys));
    }
}
