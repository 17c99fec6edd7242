package org.dl4jamp.dl4j;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.deeplearning4j.nn.graph.vertex.BaseWrapperVertex;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;

/** Access to private fields of DL4J's classes that mixed precision has to change or read. */
public final class HiddenFields {
    private static final VarHandle UNDERLYING = field(BaseWrapperVertex.class, "underlying", GraphVertex.class);

    private HiddenFields() {}

    static VarHandle field(Class<?> owner, String name, Class<?> type) {
        try {
            return MethodHandles.privateLookupIn(owner, MethodHandles.lookup()).findVarHandle(owner, name, type);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(
                    "This version of DL4J isn't supported: " + owner.getName() + " has no " + name, e);
        }
    }

    /** Returns the vertex that a wrapper of DL4J's, such as that of frozen vertices, is around. */
    public static GraphVertex underlying(BaseWrapperVertex wrapper) {
        return (GraphVertex) UNDERLYING.get(wrapper);
    }
}
