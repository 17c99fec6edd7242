package org.dl4jamp.engine;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.precision.Precision;

/**
 * The engines that {@link ServiceLoader} finds. An engine whose class can't be loaded is represented by one that is
 * unavailable, with the reason.
 */
final class FoundEngines {
    private FoundEngines() {}

    /**
     * Finds the engines of this module's class loader, then those that only the thread's context class loader has. A
     * Spark task's has the jars of {@code --jars}, while this module may be on the executor's own class path.
     */
    static List<ComputeEngine> ofThisThread() {
        ClassLoader own = FoundEngines.class.getClassLoader();
        List<ComputeEngine> found = new ArrayList<>(by(own));
        ClassLoader context = Thread.currentThread().getContextClassLoader();
        if (context == null || !hasThisModule(context)) {
            return found;
        }
        Set<String> known = found.stream().map(FoundEngines::identity).collect(Collectors.toSet());
        by(context).stream().filter(engine -> known.add(identity(engine))).forEach(found::add);
        return found;
    }

    /**
     * Returns whether a class loader has this very module, and not another copy of it, whose engines are of no use
     * here.
     */
    private static boolean hasThisModule(ClassLoader loader) {
        try {
            return loader.loadClass(ComputeEngine.class.getName()) == ComputeEngine.class;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    private static String identity(ComputeEngine engine) {
        return engine instanceof Unloadable
                ? engine.unavailable().orElseThrow()
                : engine.getClass().getName();
    }

    static List<ComputeEngine> by(ClassLoader classPath) {
        List<ComputeEngine> found = new ArrayList<>();
        Set<String> errors = new HashSet<>();
        Iterator<ComputeEngine> engines =
                ServiceLoader.load(ComputeEngine.class, classPath).iterator();
        while (true) {
            try {
                if (!engines.hasNext()) {
                    return found;
                }
                found.add(engines.next());
            } catch (ServiceConfigurationError | LinkageError e) {
                // After an error the iterator goes on with the next engine, but need not: the same error again means
                // that it doesn't.
                if (!errors.add(e.toString())) {
                    return found;
                }
                found.add(new Unloadable(e));
            }
        }
    }

    private record Unloadable(Error error) implements ComputeEngine {
        @Override
        public String name() {
            return "unknown";
        }

        @Override
        public Optional<String> unavailable() {
            String cause = error.getCause() == null ? "" : ", " + error.getCause();
            return Optional.of("its class can't be loaded (" + error + cause
                    + "). Take all modules of dl4j-amp in one version, which org.dl4jamp:dl4j-amp-bom sees to");
        }

        @Override
        public Optional<String> cannot(Precision precision) {
            return unavailable();
        }

        @Override
        public Optional<String> cannot(Layer layer, Precision precision) {
            return unavailable();
        }

        @Override
        public String how(Layer layer, Precision precision) {
            throw new IllegalStateException(unavailable().orElseThrow(), error);
        }

        @Override
        public Precision automaticPrecision() {
            return Precision.FLOAT;
        }

        @Override
        public String automaticReason() {
            return unavailable().orElseThrow();
        }

        @Override
        public EngineSession session(long largestLayer, boolean masterWeights) {
            throw new IllegalStateException(unavailable().orElseThrow(), error);
        }
    }
}
