package org.dl4jamp.twin;

import org.deeplearning4j.nn.graph.vertex.BaseWrapperVertex;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;

/** The wrapper of a graph's vertex: delegates to it what a subclass doesn't do itself. */
public abstract class DelegatingVertex extends BaseWrapperVertex implements Substitute<GraphVertex> {
    private static final long serialVersionUID = 1L;

    protected DelegatingVertex(GraphVertex master) {
        super(master);
    }

    /** Returns the graph's own vertex. */
    @Override
    public final GraphVertex master() {
        return underlying;
    }

    @Override
    public final GraphVertex informedMaster() {
        return underlying;
    }
}
