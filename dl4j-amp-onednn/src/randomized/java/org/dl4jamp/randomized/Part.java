package org.dl4jamp.randomized;

import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Layer;

/** A kind of layer or vertex that a network may be made of. */
sealed interface Part {
    String name();

    /** Families of activations. */
    enum Family {
        INDICES,
        VECTORS,
        SEQUENCES,
        IMAGES,
        VOLUMES;

        static Family of(InputType type) {
            return switch (type.getType()) {
                case FF -> VECTORS;
                case RNN -> SEQUENCES;
                case CNN, CNNFlat -> IMAGES;
                case CNN3D -> VOLUMES;
            };
        }
    }

    /** Makes a layer for activations of a type. */
    @FunctionalInterface
    interface LayerMaker {
        Layer make(Draw draw, InputType type);
    }

    /** Makes a vertex of nodes that exist. */
    @FunctionalInterface
    interface VertexMaker {
        Optional<Wired> make(Draw draw, List<Node> nodes);
    }

    /** A vertex and its inputs. */
    record Wired(GraphVertex vertex, List<Node> inputs, int copies) {
        static Optional<Wired> of(GraphVertex vertex, List<Node> inputs) {
            return Optional.of(new Wired(vertex, inputs, inputs.get(0).copies()));
        }
    }

    /**
     * A node of a graph.
     *
     * @param copies how many minibatches are stacked
     * @param steps how many time steps of an example are vectors, one a row; 0 if a row is an example, or no vector
     */
    record Node(String name, InputType type, int copies, int steps) {
        Family family() {
            return Family.of(type);
        }

        boolean isLike(Node other) {
            return type.equals(other.type) && copies == other.copies && steps == other.steps;
        }
    }

    /** A kind of layer, and the families of activations that it's made for. */
    record LayerPart(String name, Set<Family> families, LayerMaker maker) implements Part {
        static LayerPart of(String name, LayerMaker maker, Family first, Family... more) {
            return new LayerPart(name, EnumSet.of(first, more), maker);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    /** A kind of vertex. */
    record VertexPart(String name, VertexMaker maker) implements Part {
        @Override
        public String toString() {
            return name;
        }
    }
}
