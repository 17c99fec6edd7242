package org.dl4jamp.randomized;

import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.dl4jamp.randomized.Observations.Difference;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Compares mixed precision in FP32 with stock DL4J on a scenario. */
final class DifferentialCheck {
    /** The engines that are played; "stock" plays stock DL4J alone, to tell its crashes from ours. */
    static final List<String> ENGINES = Stream.of(
                    System.getProperty("amp.random.engines", "onednn,nd4j,dl4j").split(","))
            .filter(engine -> !engine.equals("stock"))
            .toList();

    /** The limit of a difference, in multiples of the effect of rounding in stock DL4J. */
    private static final double MARGIN = 3;

    private static final int NEIGHBOURS = 4;

    private static final Logger LOG = LoggerFactory.getLogger(DifferentialCheck.class);

    private final Scenario scenario;
    private final NetworkDescription description;
    private final Playing playing;
    private Observations stock;

    private DifferentialCheck(Scenario scenario, NetworkDescription description, Playing playing) {
        this.scenario = scenario;
        this.description = description;
        this.playing = playing;
    }

    /**
     * The result of a scenario.
     *
     * @param compared number of numbers or arrays that were compared
     */
    record Outcome(int compared, Optional<Found> found, boolean stockFails, int illConditioned) {
        static final Outcome NO_NETWORK = new Outcome(0, Optional.empty(), true, 0);
    }

    /** A difference, the engine that has it, and how far rounding moves stock DL4J there. */
    record Found(String engine, Difference difference, double spread) {}

    /** Compares on some engines, up to the first that differs. */
    static Outcome of(Scenario scenario, Playing playing, List<String> engines) {
        Optional<NetworkDescription> description = describe(scenario);
        if (description.isEmpty() || !playing.suits(scenario, description.get())) {
            return Outcome.NO_NETWORK;
        }
        return new DifferentialCheck(scenario, description.get(), playing).run(engines);
    }

    /** The network, empty if stock DL4J can't train it. */
    static Optional<NetworkDescription> describe(Scenario scenario) {
        try {
            NetworkDescription description = NetworkAssembly.of(scenario);
            Net net = description.network(scenario.seed());
            // Stock DL4J trains with other batches, which leave other masks.
            boolean leavesOtherMasks =
                    scenario.has(Option.MASKS) && scenario.makesOtherSteps() && description.hasAVertexThatKeepsMasks();
            // Mixed precision refuses a network without parameters, with that reason.
            if (!net.hasParameters()
                    || description.isOverwrittenByStock()
                    || leavesOtherMasks
                    || description.overflowsInStock()) {
                return Optional.empty();
            }
            Batch batch = new Batches(description, scenario.has(Option.MASKS)).of(new Draw(scenario.seed()), 3);
            if (scenario.has(Option.EXTERNAL_ERRORS)) {
                net.externalStep(batch);
            } else {
                net.fit(batch, 1);
            }
            Collection<INDArray> outputs =
                    net.output(batch, false, scenario.has(Option.MASKS)).values();
            // Stock DL4J reads errors of fewer steps than the output has where there is nothing.
            boolean errorsFit = Stream.of(batch.labels())
                    .allMatch(errors -> outputs.stream().anyMatch(output -> output.equalShapes(errors)));
            return errorsFit || !scenario.has(Option.EXTERNAL_ERRORS) ? Optional.of(description) : Optional.empty();
        } catch (RuntimeException e) {
            LOG.debug("Stock DL4J rejects {}: {}", scenario, e.toString());
            Player.forgetWorkspaces();
            return Optional.empty();
        }
    }

    private Outcome run(List<String> engines) {
        stock = stock(0);
        int illConditioned = 0;
        for (String engine : engines) {
            Optional<Difference> difference = stock.difference(playing.mixed(scenario, description, engine));
            if (difference.isPresent()) {
                double spread = spread(difference.get());
                if (difference.get().size() > MARGIN * spread) {
                    return new Outcome(
                            stock.size(),
                            Optional.of(new Found(engine, difference.get(), spread)),
                            false,
                            illConditioned);
                }
                illConditioned++;
            }
        }
        return new Outcome(stock.size(), Optional.empty(), stock.endsInFailure(), illConditioned);
    }

    /** Plays stock DL4J in double precision, in which rounding is nothing. */
    private Observations inDouble() {
        Net net = description.network(scenario.seed()).inDouble();
        return playing.stock(scenario, description, net, 0);
    }

    /** Plays stock DL4J, from parameters and with features that are as far off as rounding would bring them. */
    private Observations stock(int neighbour) {
        Net net = description.network(scenario.seed());
        if (neighbour > 0) {
            net.model()
                    .params()
                    .muli(new Draw(neighbour)
                            .uniform(
                                    1 - Batches.ROUNDING,
                                    1 + Batches.ROUNDING,
                                    net.model().params().shape()));
        }
        return playing.stock(scenario, description, net, neighbour);
    }

    /** Returns the effect of rounding in stock DL4J: its own, and that of its input. */
    private double spread(Difference difference) {
        if (difference.failure() != null) {
            return 0;
        }
        double spread = stock.spread(difference.index(), inDouble());
        for (int i = 1; i <= NEIGHBOURS; i++) {
            spread = Math.max(spread, stock.spread(difference.index(), stock(i)));
        }
        return spread;
    }
}
