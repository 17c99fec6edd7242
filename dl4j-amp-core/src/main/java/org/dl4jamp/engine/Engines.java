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
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.policy.PrecisionPlanner;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.twin.Twin;

/** Finds the engines on the class path and chooses one. */
public final class Engines {
    /** Name of the engine that runs wherever ND4J runs. */
    public static final String PORTABLE = "nd4j";

    private Engines() {}

    /** An engine that leaves every layer to DL4J, in FP32; or the place of one whose class can't be loaded. */
    private record TwinlessEngine(String name, Optional<String> unavailable) implements ComputeEngine {
        /** Used only if the settings name it: never chosen, nor found on the class path. */
        static final ComputeEngine DL4J = new TwinlessEngine(PrecisionPlanner.UNTOUCHED, Optional.empty());

        @Override
        public Optional<String> cannot(Precision precision) {
            return precision.isHalf()
                    ? Optional.of("it leaves all layers to DL4J, which computes in FP32")
                    : Optional.empty();
        }

        @Override
        public Optional<String> cannot(Layer layer, Precision precision) {
            return cannot(precision);
        }

        @Override
        public Precision automaticPrecision() {
            return Precision.FLOAT;
        }

        @Override
        public String automaticReason() {
            return "engine(\"" + name + "\") leaves all layers to DL4J";
        }

        @Override
        public String how(Layer layer, Precision precision) {
            return "left to DL4J";
        }

        @Override
        public EngineSession session(long largestLayer, boolean masterWeights) {
            return new EngineSession() {
                @Override
                public Twin twin(TwinRequest request) {
                    throw new UnsupportedOperationException("layer \"" + request.name() + "\" is left to DL4J");
                }

                @Override
                public void close() {
                    // Nothing to free.
                }
            };
        }
    }

    /**
     * An engine, the precision of the layers in lower precision, which is never AUTO, and the reason for the choice, if
     * there was one, for plan and log.
     */
    public record Choice(ComputeEngine engine, Precision precision, String reason) {}

    /**
     * Chooses engine and precision.
     *
     * @param name an engine's name, or {@code auto}
     * @param precision the precision in the settings
     * @throws AmpException if there is no such engine, it can't be used here, or can't compute in the precision
     */
    public static Choice choose(String name, Precision precision) {
        return choose(name, precision, found());
    }

    /** Chooses among engines, of which the portable one is the last. */
    static Choice choose(String name, Precision precision, List<ComputeEngine> found) {
        List<ComputeEngine> candidates = name.equals(AmpConfig.AUTO_ENGINE)
                ? found.stream()
                        .filter(engine -> engine.unavailable().isEmpty())
                        .toList()
                : List.of(named(name, found));
        return precision == Precision.AUTO ? automatic(candidates, found) : of(candidates, precision, found);
    }

    private static ComputeEngine named(String name, List<ComputeEngine> found) {
        if (name.equals(TwinlessEngine.DL4J.name())) {
            return TwinlessEngine.DL4J;
        }
        ComputeEngine engine = found.stream()
                .filter(candidate -> candidate.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new AmpException("engine(\"" + AmpException.quote(name)
                        + "\"): there is no such engine on the class path. Found: " + describe(found)
                        + ". Take one of these, \"" + TwinlessEngine.DL4J.name() + "\", or \"auto\""));
        engine.unavailable().ifPresent(reason -> {
            throw new AmpException("engine(\"" + name + "\") can't be used here: " + reason + ". Found: "
                    + describe(found) + ". Take one that's available, or \"auto\"");
        });
        return engine;
    }

    private static Choice automatic(List<ComputeEngine> candidates, List<ComputeEngine> found) {
        return first(candidates, candidate -> candidate.automaticPrecision().isHalf())
                .or(() -> first(candidates, ComputeEngine::computesFloat))
                .map(engine -> new Choice(engine, engine.automaticPrecision(), engine.automaticReason()))
                .orElseGet(() -> new Choice(
                        candidates.get(candidates.size() - 1), Precision.FLOAT, whyFloat(candidates, found)));
    }

    private static Optional<ComputeEngine> first(List<ComputeEngine> candidates, Predicate<ComputeEngine> wanted) {
        return candidates.stream().filter(wanted).findFirst();
    }

    /** Returns the reason of the first engine, or of the named one, and the engines that are unavailable. */
    private static String whyFloat(List<ComputeEngine> candidates, List<ComputeEngine> found) {
        Stream<String> unavailable = found.stream().flatMap(engine -> engine.unavailable().stream()
                .map(reason -> "; engine \"" + engine.name() + "\" is unavailable: " + reason));
        return candidates.get(0).automaticReason() + unavailable.collect(Collectors.joining());
    }

    private static Choice of(List<ComputeEngine> candidates, Precision precision, List<ComputeEngine> found) {
        List<ComputeEngine> able = candidates.stream()
                .filter(engine -> engine.cannot(precision).isEmpty())
                .toList();
        if (able.isEmpty()) {
            throw new AmpException("precision(" + precision + "): "
                    + candidates.stream()
                            .map(engine -> "engine \"" + engine.name() + "\" can't, because "
                                    + engine.cannot(precision).orElseThrow())
                            .collect(Collectors.joining("; "))
                    + ". Found: " + describe(found) + ". Take another precision or engine, or AUTO");
        }
        // FP32 without an engine's name is DL4J's own: the portable engine, the last one, leaves it to DL4J.
        ComputeEngine engine = able.stream()
                .filter(candidate -> precision.isHalf() && candidate.automaticPrecision() == precision)
                .findFirst()
                .orElse(able.get(able.size() - 1));
        return new Choice(engine, precision, precision + " was asked for");
    }

    private static String describe(List<ComputeEngine> found) {
        return found.stream()
                .map(engine -> "\"" + engine.name() + "\" ("
                        + engine.unavailable()
                                .map(reason -> "unavailable: " + reason)
                                .orElse("available") + ")")
                .collect(Collectors.joining(", "));
    }

    /**
     * Finds the engines of this module's class loader, then those that only the thread's context class loader has. A
     * Spark task's has the jars of {@code --jars}, while this module may be on the executor's own class path.
     *
     * @return those engines by name, the portable one last; also those that are unavailable
     */
    public static List<ComputeEngine> found() {
        return Stream.of(Engines.class.getClassLoader(), Thread.currentThread().getContextClassLoader())
                .filter(Engines::hasThisModule)
                .flatMap(loader -> by(loader).stream())
                .collect(Collectors.toMap(
                        Engines::identity, engine -> engine, (first, again) -> first, LinkedHashMap::new))
                .values()
                .stream()
                .sorted(Comparator.comparing(
                                (ComputeEngine engine) -> engine.name().equals(PORTABLE))
                        .thenComparing(ComputeEngine::name))
                .toList();
    }

    /** Returns whether a class loader, which may be null, has this very module. Engines of a copy are of no use. */
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

    /** Loads the engines that a class loader has. One whose class can't be loaded is unavailable, with the reason. */
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
