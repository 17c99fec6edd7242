package org.dl4jamp.randomized;

import static org.dl4jamp.randomized.Part.Family.IMAGES;
import static org.dl4jamp.randomized.Part.Family.SEQUENCES;
import static org.dl4jamp.randomized.Part.Family.VECTORS;
import static org.dl4jamp.randomized.Part.Family.VOLUMES;

import java.util.List;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.dl4jamp.onednn.user.SquaredRelu;
import org.dl4jamp.randomized.Part.LayerPart;
import org.dl4jamp.randomized.UsersGraph.Kind;

/** Layers of users' classes: with kernels of their own, and of SameDiff operations. */
final class LayersOfUsers {
    static final List<LayerPart> ALL = List.of(
            LayerPart.of("usersKernel", LayersOfUsers::squaredRelu, VECTORS, SEQUENCES, IMAGES, VOLUMES),
            LayerPart.of("usersKernelOfSequences", LayersOfUsers::weightedSteps, SEQUENCES),
            LayerPart.of("sameDiff", LayersOfUsers::graph, VECTORS),
            LayerPart.of("sameDiffLinear", (draw, type) -> new UsersGraph(Kind.LINEAR, draw.between(2, 5)), VECTORS),
            LayerPart.of("sameDiffOfSequences", (draw, type) -> new UsersGraph(Kind.SEQUENCES, 0), SEQUENCES));

    private LayersOfUsers() {}

    private static SquaredRelu squaredRelu(Draw draw, InputType type) {
        return new SquaredRelu(draw.between(2, 6));
    }

    private static WeightedSteps weightedSteps(Draw draw, InputType type) {
        return new WeightedSteps(((InputType.InputTypeRecurrent) type).getFormat() == RNNFormat.NWC);
    }

    private static UsersGraph graph(Draw draw, InputType type) {
        return new UsersGraph(draw.of(Kind.PRODUCT, Kind.TRANSPOSED, Kind.STACKS), draw.between(2, 5));
    }
}
