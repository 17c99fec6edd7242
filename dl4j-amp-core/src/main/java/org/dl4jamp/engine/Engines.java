package org.dl4jamp.engine;

import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;

/** Finds the engines on the class path and chooses one. */
public final class Engines {
    /** Name of the engine that runs wherever ND4J runs. */
    public static final String PORTABLE = "nd4j";

    private Engines() {}

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
        return choose(name, precision, FoundEngines.ofThisThread());
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
                        + ". Take one of these, \"dl4j\", or \"auto\""));
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
        StringBuilder why = new StringBuilder(candidates.get(0).automaticReason());
        for (ComputeEngine engine : found) {
            engine.unavailable().ifPresent(reason -> why.append("; engine \"")
                    .append(engine.name())
                    .append("\" is unavailable: ")
                    .append(reason));
        }
        return why.toString();
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
}
