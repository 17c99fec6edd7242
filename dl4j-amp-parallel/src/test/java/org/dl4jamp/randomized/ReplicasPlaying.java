package org.dl4jamp.randomized;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.dl4jamp.parallel.AmpReplicas;
import org.dl4jamp.parallel.ReplicaState;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Trains a scenario's network in two replicas, which are averaged after each of their batches. */
final class ReplicasPlaying implements Playing {
    private static final int WORKERS = 2;

    /** A batch, and whether it has to be skipped. */
    private record Turn(Batch batch, boolean failing) {}

    /**
     * Left out: groups of micro-batches, which averaging would cut, and noise, which replicas draw in any order. Also
     * what trains in other ways than by {@code fit}, and networks whose clones stock DL4J can't train.
     */
    @Override
    public boolean suits(Scenario scenario, NetworkDescription description) {
        boolean other = scenario.has(Option.ACCUMULATION)
                || scenario.has(Option.WEIGHT_NOISE)
                || scenario.has(Option.EXTERNAL_ERRORS)
                || scenario.has(Option.LISTENER);
        return !other && !description.names("RReLU") && description.isCloneTrainable();
    }

    private static List<Turn> turns(Scenario scenario, Batches batches) {
        Draw draw = new Draw(scenario.seed() ^ 37);
        List<Turn> turns = new ArrayList<>();
        for (int i = WORKERS * draw.between(1, 4); i > 0; i--) {
            boolean failing = scenario.has(Option.FAILURES) && draw.chance(0.3);
            turns.add(new Turn(failing ? batches.failing(draw) : batches.of(draw), failing));
        }
        return turns;
    }

    @Override
    public Observations stock(Scenario scenario, NetworkDescription description, Net net, int neighbour) {
        try (StockPlayer first = new StockPlayer(scenario, description, net, neighbour);
                StockPlayer second = new StockPlayer(scenario, description, net.copy(), neighbour)) {
            List<StockPlayer> players = List.of(first, second);
            players.forEach(StockPlayer::begin);
            List<Turn> turns = turns(scenario, first.batches());
            Observations seen = new Observations();
            try {
                for (int i = 0; i < turns.size(); i++) {
                    players.get(i % WORKERS)
                            .fit(turns.get(i).batch(), turns.get(i).failing(), 1);
                    if (i % WORKERS == WORKERS - 1) {
                        average(net.model().params(), second.net().model().params());
                        average(net.updaterState(), second.net().updaterState());
                    }
                }
                boolean finite = first.hasFiniteScores() && second.hasFiniteScores();
                seen.add("fit: some score", finite ? 0 : Double.NaN);
                see(seen, scenario, description, net, neighbour);
            } catch (RuntimeException e) {
                seen.addFailure("fit", e);
                Player.forgetWorkspaces();
            }
            return seen;
        }
    }

    /** A network that has made no step has no updater state yet. */
    private static void average(INDArray one, INDArray other) {
        if (one != null && other != null && !one.isEmpty()) {
            one.addi(other).muli(0.5);
            other.assign(one);
        }
    }

    @Override
    public Observations mixed(Scenario scenario, NetworkDescription description, String engine) {
        NetworkDescription made =
                scenario.has(Option.CARRIED) ? description.carrying(AmpPlayer.settings(scenario, engine)) : description;
        Net net = made.network(scenario.seed());
        List<Turn> turns = turns(scenario, new Batches(description, scenario.has(Option.MASKS)));
        Observations seen = new Observations();
        try (ParallelWrapper wrapper = new ParallelWrapper.Builder<>(net.model())
                        .workers(WORKERS)
                        .averagingFrequency(1)
                        .trainingMode(ParallelWrapper.TrainingMode.AVERAGING)
                        .build();
                AmpReplicas amp = scenario.has(Option.CARRIED)
                        ? AmpReplicas.installIn(wrapper)
                        : AmpReplicas.installIn(wrapper, AmpPlayer.settings(scenario, engine))) {
            fit(wrapper, net, turns.stream().map(Turn::batch).toList());
            seen.add("fit: some score", 0);
            long skipped =
                    amp.states().stream().mapToLong(ReplicaState::stepsSkipped).sum();
            if (skipped != turns.stream().filter(Turn::failing).count()) {
                throw new AssertionError(amp.states().toString());
            }
            see(seen, scenario, description, net, 0);
        } catch (Exception | AssertionError e) {
            seen.addFailure("fit", e);
            Player.forgetWorkspaces();
        }
        return seen;
    }

    private static void fit(ParallelWrapper wrapper, Net net, List<Batch> batches) {
        if (net instanceof GraphNet) {
            wrapper.fit(new BatchIterator(batches));
        } else {
            wrapper.fit(new ExistingDataSetIterator(
                    batches.stream().map(Batch::dataSet).toList()));
        }
    }

    private static void see(
            Observations seen, Scenario scenario, NetworkDescription description, Net net, int neighbour) {
        seen.add("fit: parameters", net.model().params());
        Batches batches = new Batches(
                description, scenario.has(Option.MASKS), net.model().params().dataType(), neighbour);
        Map<String, INDArray> output =
                net.output(batches.of(new Draw(scenario.seed() ^ 41)), false, scenario.has(Option.MASKS));
        seen.add("output", output);
    }
}
