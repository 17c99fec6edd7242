package org.dl4jamp.onednn;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.IntPredicate;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.nd4j.Nd4jEngine;
import org.dl4jamp.onednn.primitive.RefusingContext;
import org.dl4jamp.onednn.user.UserKernels;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.precision.Precision;

/** This engine, with a oneDNN that doesn't make what it's told to refuse. */
public final class RefusingEngine implements ComputeEngine {
    /** The name by which networks ask for it. */
    public static final String NAME = "refusing";

    private static volatile IntPredicate refuses = asked -> false;

    private final ComputeEngine engine = new OneDnnEngine();

    /** Sets what is refused from now on, by the number of kernels that a network has asked for before. */
    public static void refuse(IntPredicate which) {
        refuses = which;
    }

    /** Runs something while networks of this thread find the engine by its name. */
    public static void whileFound(Path folder, Runnable action) throws IOException {
        Path services = Files.createDirectories(folder.resolve("META-INF/services"));
        Files.write(services.resolve(ComputeEngine.class.getName()), List.of(RefusingEngine.class.getName()));
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        try (URLClassLoader found =
                new URLClassLoader(new URL[] {folder.toUri().toURL()}, RefusingEngine.class.getClassLoader())) {
            thread.setContextClassLoader(found);
            action.run();
        } finally {
            thread.setContextClassLoader(before);
            refuse(asked -> false);
        }
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<String> unavailable() {
        return engine.unavailable();
    }

    @Override
    public Optional<String> cannot(Precision precision) {
        return engine.cannot(precision);
    }

    @Override
    public Precision automaticPrecision() {
        return engine.automaticPrecision();
    }

    @Override
    public String automaticReason() {
        return engine.automaticReason();
    }

    @Override
    public boolean computesFloat() {
        return true;
    }

    @Override
    public Optional<String> cannot(Layer layer, Precision precision) {
        return engine.cannot(layer, precision);
    }

    @Override
    public boolean computes(GraphVertex vertex, Precision precision) {
        return engine.computes(vertex, precision);
    }

    @Override
    public boolean fuses(NetworkGraph.Node first, Layer then) {
        return engine.fuses(first, then);
    }

    @Override
    public String how(Layer layer, Precision precision) {
        return engine.how(layer, precision);
    }

    @Override
    public EngineSession session(long largestLayer, boolean masterWeights) {
        return new OneDnnSession(
                new Nd4jEngine().session(largestLayer, masterWeights),
                masterWeights,
                new RefusingContext(false, asked -> refuses.test(asked)),
                UserKernels.NONE);
    }

    @Override
    public EngineSession inference(long largestLayer) {
        return new OneDnnSession(
                new Nd4jEngine().inference(largestLayer),
                true,
                new RefusingContext(true, asked -> refuses.test(asked)),
                UserKernels.NONE);
    }
}
