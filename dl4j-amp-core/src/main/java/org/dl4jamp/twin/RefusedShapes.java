package org.dl4jamp.twin;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The shapes that a layer's or vertex's twin has refused. DL4J's own code computes them, in FP32. */
public final class RefusedShapes {
    private static final Logger LOG = LoggerFactory.getLogger(RefusedShapes.class);

    private final Set<List<Long>> shapes = ConcurrentHashMap.newKeySet();
    private volatile String reason;

    /** Returns whether inputs of these shapes were refused before. */
    public boolean contain(INDArray... inputs) {
        return !shapes.isEmpty() && shapes.contains(key(inputs));
    }

    /**
     * Adds the shapes of inputs. The first ones are logged.
     *
     * @param what the layer or vertex
     */
    public void add(String what, RefusedShape refusal, INDArray... inputs) {
        shapes.add(key(inputs));
        if (reason == null) {
            String of = String.join(
                    ", ",
                    Arrays.stream(inputs)
                            .map(input -> Arrays.toString(input.shape()))
                            .toList());
            reason = "in FP32 by DL4J's own code for input of shape " + of + ", because " + refusal.getMessage();
            LOG.warn("{} is computed {}", what, reason);
        }
    }

    /** Returns what is computed otherwise than planned, and why; empty if nothing was refused. */
    public Optional<String> reason() {
        return Optional.ofNullable(reason);
    }

    private static List<Long> key(INDArray... inputs) {
        return Arrays.stream(inputs)
                .filter(Objects::nonNull)
                .flatMap(input -> Arrays.stream(input.shape()).boxed())
                .toList();
    }
}
