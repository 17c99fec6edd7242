package org.dl4jamp.network;

import java.util.function.Consumer;
import java.util.function.Supplier;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;

/**
 * The place of a vertex in a graph, in which another can be put.
 *
 * @param name the vertex's name
 * @param current reads the vertex in that place
 * @param replace puts another there
 */
public record VertexPlace(String name, Supplier<GraphVertex> current, Consumer<GraphVertex> replace) {}
