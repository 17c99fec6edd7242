package org.dl4jamp.inspect.speed;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.engine.Engines;
import org.dl4jamp.precision.Precision;

/**
 * One of the ways to train that are compared.
 *
 * @param precision the precision of its layers
 * @param engine the engine that computes them; empty for stock DL4J
 * @param automatic whether AUTO takes it
 */
record Side(Precision precision, Optional<String> engine, boolean automatic) {
    /** DL4J as it is. */
    static final Side STOCK = new Side(Precision.FLOAT, Optional.empty(), false);

    /**
     * Returns the ways besides stock DL4J in this process: FP32 on an engine that computes it, and each half precision
     * that an engine computes here, on the one that is chosen for it. That of AUTO is the first, and HALF, which is
     * slow on CPUs, the last one.
     */
    static List<Side> here() {
        List<ComputeEngine> available = Engines.found().stream()
                .filter(engine -> engine.unavailable().isEmpty())
                .toList();
        Engines.Choice automatic = Engines.choose(AmpConfig.AUTO_ENGINE, Precision.AUTO);
        List<Side> sides = new ArrayList<>();
        for (Precision half : halves(available)) {
            sides.add(of(Engines.choose(AmpConfig.AUTO_ENGINE, half), automatic));
        }
        available.stream()
                .filter(ComputeEngine::computesFloat)
                .findFirst()
                .map(ComputeEngine::name)
                .ifPresent(engine -> sides.add(of(Engines.choose(engine, Precision.FLOAT), automatic)));
        sides.sort(Comparator.comparing((Side side) -> !side.automatic())
                .thenComparing(Side::precision, Comparator.reverseOrder()));
        return sides;
    }

    /** Returns the half precisions that one of the engines computes, such as HALF alone on CUDA. */
    static List<Precision> halves(List<ComputeEngine> engines) {
        return Stream.of(Precision.BFLOAT16, Precision.HALF)
                .filter(half ->
                        engines.stream().anyMatch(engine -> engine.cannot(half).isEmpty()))
                .toList();
    }

    private static Side of(Engines.Choice choice, Engines.Choice automatic) {
        boolean same = choice.precision() == automatic.precision()
                && choice.engine().name().equals(automatic.engine().name());
        return new Side(choice.precision(), Optional.of(choice.engine().name()), same);
    }

    /** Returns the settings for mixed precision; empty for stock DL4J. */
    Optional<AmpConfig> config() {
        return engine.map(
                name -> AmpConfig.builder().precision(precision).engine(name).build());
    }
}
