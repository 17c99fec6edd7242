package org.dl4jamp.onednn.samediff;

import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.autodiff.samediff.internal.InferenceSession;

/** ND4J's own session: the one of 1.0.0-M1.1 runs operations by another method, and the engine isn't tested there. */
final class ProductSession extends InferenceSession {
    ProductSession(SameDiff graph, OneDnnContext context) {
        super(graph);
    }
}
