package org.dl4jamp.engine;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The engines that {@link ServiceLoader} finds. One whose class can't be loaded is unavailable, with the reason. */
final class FoundEngines {
    private FoundEngines() {}

    /**
     * Finds the engines of this module's class loader, then those that only the thread's context class loader has. A
     * Spark task's has the jars of {@code --jars}, while this module may be on the executor's own class path.
     *
     * @return those engines by name, the portable one last
     */
    static List<ComputeEngine> ofThisThread() {
        return Stream.of(
                        FoundEngines.class.getClassLoader(),
                        Thread.currentThread().getContextClassLoader())
                .filter(FoundEngines::hasThisModule)
                .flatMap(loader -> by(loader).stream())
                .collect(Collectors.toMap(
                        FoundEngines::identity, engine -> engine, (first, again) -> first, LinkedHashMap::new))
                .values()
                .stream()
                .sorted(Comparator.comparing(
                                (ComputeEngine engine) -> engine.name().equals(Engines.PORTABLE))
                        .thenComparing(ComputeEngine::name))
                .toList();
    }

    /**
     * Returns whether a class loader, which may be null, has this very module, and not another copy of it, whose
     * engines are of no use here.
     */
    private static boolean hasThisModule(ClassLoader loader) {
        try {
            return loader != null && loader.loadClass(ComputeEngine.class.getName()) == ComputeEngine.class;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    private static String identity(ComputeEngine engine) {
        return engine instanceof TwinlessEngine
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
                String cause = e.getCause() == null ? "" : ", " + e.getCause();
                String reason = "its class can't be loaded (" + e + cause
                        + "). Take all modules of dl4j-amp in one version, which org.dl4jamp:dl4j-amp-bom sees to";
                found.add(new TwinlessEngine("unknown", Optional.of(reason)));
            }
        }
    }
}
