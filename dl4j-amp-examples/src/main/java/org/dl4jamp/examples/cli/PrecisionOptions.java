package org.dl4jamp.examples.cli;

import java.util.Optional;
import java.util.ServiceLoader;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.factory.Nd4j;
import picocli.CommandLine;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** The options for precision and engine. */
public final class PrecisionOptions {
    private static final String ND4J_ENGINE = "nd4j";

    @Option(
            names = "--precision",
            defaultValue = "auto",
            paramLabel = "NAME",
            description = {
                "auto, half, bfloat16 or float (default: ${DEFAULT-VALUE}).",
                "auto takes what is fastest here. Where that is DL4J's own FP32, it takes FP32 on an",
                "engine that computes it, too, or, without one, half, which shows numerics."
            })
    private Precision precision;

    @Option(
            names = "--engine",
            defaultValue = AmpConfig.AUTO_ENGINE,
            paramLabel = "NAME",
            description = "What computes in that precision (default: ${DEFAULT-VALUE}).")
    private String engine;

    /**
     * The precision and engine that a network is trained with.
     *
     * @param config settings for {@link MixedPrecision#enable}, with a precision by name
     * @param precision the precision of the layers in lower precision
     * @param engine the engine that computes it
     */
    public record Choice(AmpConfig config, Precision precision, String engine) {
        /** Returns a short name for comparisons with DL4J's FP32. */
        public String title() {
            return precision.isHalf() ? precision.name() : "FP32, " + engine;
        }

        /** Returns a name within a sentence for comparisons with DL4J's FP32. */
        public String what() {
            return precision.isHalf() ? "mixed precision on engine " + engine : "FP32 on engine " + engine;
        }

        /** Returns a note about this choice on this machine; empty if there is none. */
        public String note() {
            boolean portable = engine.equals(ND4J_ENGINE);
            if (!precision.isHalf()) {
                return portable
                        ? "Both are DL4J's own FP32: there is nothing to compare."
                        : "No layer computed in half precision: the comparison is between FP32 in DL4J and FP32 on"
                                + " engine "
                                + engine + ".";
            }
            if (portable && Nd4j.getEnvironment().isCPU()) {
                return "On ND4J's CPU backend " + precision
                        + " shows numerics and not speed: the nd4j engine multiplies" + " through FP32 there.";
            }
            return "";
        }
    }

    /**
     * Decides for a network, by enabling mixed precision on it and closing it again.
     *
     * <p>Where {@link Precision#AUTO} leaves the network to DL4J's own FP32, FP32 on another engine is taken or else
     * HALF: comparing FP32 with itself would show nothing.
     */
    public Choice choose(CommandLine command, NeuralNetwork network) {
        try {
            Choice choice = tryOut(network, precision, engine);
            if (precision != Precision.AUTO
                    || choice.precision() != Precision.FLOAT
                    || !choice.engine().equals(ND4J_ENGINE)) {
                return choice;
            }
            return engineForFloat()
                    .map(fast -> tryOut(network, Precision.FLOAT, fast))
                    .orElseGet(() -> tryOut(network, Precision.HALF, engine));
        } catch (AmpException e) {
            throw new ParameterException(command, e.getMessage(), e);
        }
    }

    /** Returns settings with the precision and engine that the user has given; the others stay. */
    public AmpConfig in(AmpConfig settings, CommandLine.ParseResult given) {
        AmpConfig.Builder builder = settings.toBuilder();
        if (given.hasMatchedOption("--precision")) {
            builder.precision(precision);
        }
        if (given.hasMatchedOption("--engine")) {
            builder.engine(engine);
        }
        return builder.build();
    }

    private Optional<String> engineForFloat() {
        return ServiceLoader.load(ComputeEngine.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(each -> engine.equals(AmpConfig.AUTO_ENGINE)
                        && each.computesFloat()
                        && each.unavailable().isEmpty())
                .map(ComputeEngine::name)
                .findFirst();
    }

    private static Choice tryOut(NeuralNetwork network, Precision wanted, String engine) {
        AmpConfig config = AmpConfig.builder().precision(wanted).engine(engine).build();
        try (MixedPrecision amp = enable(network, config)) {
            return new Choice(config, amp.precision(), amp.engine());
        }
    }

    /** Calls {@link MixedPrecision#enable} for a network of either kind. */
    public static MixedPrecision enable(NeuralNetwork network, AmpConfig config) {
        return MixedPrecision.enable((Model) network, config);
    }
}
