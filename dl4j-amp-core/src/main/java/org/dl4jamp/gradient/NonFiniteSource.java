package org.dl4jamp.gradient;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Layer;
import org.dl4jamp.dl4j.ParameterGradients;
import org.dl4jamp.layer.UnscalingVertex;
import org.dl4jamp.layer.standin.StandIn;
import org.dl4jamp.network.AmpNetwork;
import org.dl4jamp.network.Place;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.indexaccum.FirstIndex;
import org.nd4j.linalg.api.ops.impl.reduce.longer.MatchCondition;
import org.nd4j.linalg.api.shape.Shape;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.conditions.Conditions;

/** Looks for infinities and NaN, and in a step of a network that failed for where they came from. */
public record NonFiniteSource(AmpNetwork network) {
    /**
     * Returns the first infinity or NaN in the batch, such as {@code features 0 contain NaN at [0, 3]}; empty if there
     * is none. Labels may hold null.
     */
    public Optional<String> inBatch(Collection<INDArray> labels) {
        return nonFinite("features", network.features()).or(() -> nonFinite("labels", new ArrayList<>(labels)));
    }

    private static Optional<String> nonFinite(String what, List<INDArray> arrays) {
        return IntStream.range(0, arrays.size())
                .mapToObj(i -> firstNonFinite(arrays.get(i)).map(where -> what + " " + i + " contain " + where))
                .flatMap(Optional::stream)
                .findFirst();
    }

    /**
     * Returns the parameter whose gradient was the first not to be finite, such as {@code parameter "W" of layer "0"};
     * empty if all are finite. Gradients flow from the last layer to the first.
     */
    public Optional<String> amongParameters() {
        List<Place<Layer>> places = new ArrayList<>(network.layers());
        Collections.reverse(places);
        Stream<Optional<String>> layers = places.stream().map(place -> {
            Layer layer = place.current().get();
            INDArray view = layer.getGradientsViewArray();
            return view == null || isFinite(view)
                    ? Optional.empty()
                    : first(ParameterGradients.of(layer, network.model().params(), network.gradients()))
                            .map(parameter -> parameter + " of layer \"" + place.name() + "\"");
        });
        Stream<Optional<String>> vertices = network.vertices().stream()
                .map(place -> StandIn.behind(place.current().get()) instanceof UnscalingVertex vertex
                        ? first(vertex.gradients()).map(name -> name + " of vertex \"" + place.name() + "\"")
                        : Optional.empty());
        return Stream.concat(layers, vertices).flatMap(Optional::stream).findFirst();
    }

    /**
     * Returns the name of the first layer with a gradient that isn't finite, in the order of the backward pass; empty
     * if all are finite.
     */
    public Optional<String> amongLayers() {
        List<Place<Layer>> places = new ArrayList<>(network.layers());
        Collections.reverse(places);
        return places.stream()
                .filter(place -> {
                    INDArray view = place.current().get().getGradientsViewArray();
                    return view != null && !isFinite(view);
                })
                .map(Place::name)
                .findFirst();
    }

    private static Optional<String> first(Map<String, INDArray> gradients) {
        return gradients.entrySet().stream()
                .filter(gradient -> !isFinite(gradient.getValue()))
                .findFirst()
                .map(gradient -> "parameter \"" + gradient.getKey() + "\"");
    }

    private static boolean isFinite(INDArray array) {
        return Nd4j.getExecutioner()
                        .exec(new MatchCondition(array, Conditions.notFinite()))
                        .getLong(0)
                == 0;
    }

    /**
     * Returns the first infinity or NaN and its place, such as {@code NaN at [0, 3]}; empty if all elements are finite
     * or there is no array.
     */
    public static Optional<String> firstNonFinite(INDArray array) {
        if (array == null || !array.dataType().isFPType()) {
            return Optional.empty();
        }
        // ND4J takes NaN in HALF for finite.
        INDArray numbers = array.dataType() == DataType.HALF ? array.castTo(DataType.FLOAT) : array;
        if (isFinite(numbers)) {
            return Optional.empty();
        }
        INDArray flat = numbers.dup('c').reshape(array.length());
        long first = Nd4j.getExecutioner()
                .exec(new FirstIndex(flat, Conditions.notFinite()))
                .getLong(0);
        return Optional.of(flat.getDouble(first) + " at " + Arrays.toString(Shape.ind2subC(array.shape(), first)));
    }
}
