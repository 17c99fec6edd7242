package org.dl4jamp.inspect.plan;

import java.util.List;
import java.util.stream.Stream;
import org.dl4jamp.policy.PrecisionPlan.Fusion;
import org.dl4jamp.precision.Precision;

/**
 * The plan of a network with the cost of each layer and the expected saving. Immutable; it's written as JSON as it
 * stands.
 *
 * @param network {@code MultiLayerNetwork} or {@code ComputationGraph}
 * @param batch number of examples of which operations and bytes are given
 * @param timesteps number of time steps of sequences whose length isn't fixed; null if the network has no sequences
 * @param precision the precision of the layers in lower precision; FLOAT if there are none
 * @param engine name of the engine
 * @param note the reason for this precision; may be empty
 * @param inputs the network's inputs
 * @param layers layers and vertices, in topological order
 * @param edges who takes whose output
 * @param fusions pairs that are computed in one pass in training; only the result of both is kept
 * @param totals sums over all layers
 */
public record NetworkPlan(
        String network,
        int batch,
        Integer timesteps,
        Precision precision,
        String engine,
        String note,
        List<Input> inputs,
        List<Layer> layers,
        List<Edge> edges,
        List<Fusion> fusions,
        Totals totals) {
    /**
     * An input of the network.
     *
     * @param name its name
     * @param shape its shape for one example, such as {@code 3x224x224}
     */
    public record Input(String name, String shape) {}

    /**
     * A layer or vertex.
     *
     * @param name its name in the plan
     * @param className simple name of its configuration class
     * @param layer whether it's a layer, and not another vertex
     * @param shape the shape of its output for one example; null if it can't be told
     * @param parameters number of its parameters, running statistics included
     * @param flops floating-point operations of a forward pass of the batch; null if there is no formula for it
     * @param precision the precision that it computes in
     * @param output the precision of its output
     * @param floatBytes bytes of its output for the batch in FP32; null if its shape can't be told
     * @param planBytes bytes of its output that the plan keeps: none for the first of a fused pair, whose output is the
     *     second's; null if its shape can't be told
     * @param engine the engine that computes it; {@code dl4j} where it's left as it is
     * @param reason the reason for its precision
     */
    public record Layer(
            String name,
            String className,
            boolean layer,
            String shape,
            long parameters,
            Long flops,
            Precision precision,
            Precision output,
            Long floatBytes,
            Long planBytes,
            String engine,
            String reason) {}

    /**
     * An output that another node takes.
     *
     * @param from name of an input, layer or vertex
     * @param to name of the layer or vertex that takes it
     * @param cast the conversion on the way; null if there is none
     */
    public record Edge(String from, String to, Cast cast) {}

    /**
     * A conversion between FP32 and half precision.
     *
     * @param from the precision of the values before
     * @param to the precision behind it
     */
    public record Cast(Precision from, Precision to) {}

    /**
     * Sums over all layers.
     *
     * @param parameters number of parameters
     * @param flops floating-point operations of the layers for which they're known
     * @param halfFlops those of them that are computed in half precision
     * @param layersOfUnknownFlops number of layers and vertices without a formula
     * @param layersOfUnknownShape number of layers and vertices whose output's shape can't be told
     * @param floatBytes bytes of all outputs in FP32
     * @param planBytes bytes of all outputs that the plan keeps
     * @param casts number of edges with a conversion
     * @param halfShare the share of the known operations in half precision, 0 to 1; 0 if there are none
     * @param savedShare the share of the activations' bytes that is saved, 0 to 1; 0 if there are none
     */
    public record Totals(
            long parameters,
            long flops,
            long halfFlops,
            int layersOfUnknownFlops,
            int layersOfUnknownShape,
            long floatBytes,
            long planBytes,
            int casts,
            double halfShare,
            double savedShare) {
        static Totals of(List<Layer> layers, List<Edge> edges) {
            long flops = sum(layers.stream().map(Layer::flops));
            long halfFlops = sum(
                    layers.stream().filter(layer -> layer.precision().isHalf()).map(Layer::flops));
            long floatBytes = sum(layers.stream().map(Layer::floatBytes));
            long planBytes = sum(layers.stream().map(Layer::planBytes));
            return new Totals(
                    layers.stream().mapToLong(Layer::parameters).sum(),
                    flops,
                    halfFlops,
                    (int) layers.stream().filter(layer -> layer.flops() == null).count(),
                    (int) layers.stream().filter(layer -> layer.shape() == null).count(),
                    floatBytes,
                    planBytes,
                    (int) edges.stream().filter(edge -> edge.cast() != null).count(),
                    share(halfFlops, flops),
                    share(floatBytes - planBytes, floatBytes));
        }

        private static long sum(Stream<Long> values) {
            return values.filter(value -> value != null)
                    .mapToLong(Long::longValue)
                    .sum();
        }

        private static double share(long part, long whole) {
            return whole == 0 ? 0 : (double) part / whole;
        }
    }

    public NetworkPlan {
        inputs = List.copyOf(inputs);
        layers = List.copyOf(layers);
        edges = List.copyOf(edges);
        fusions = List.copyOf(fusions);
    }
}
