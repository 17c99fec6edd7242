package org.dl4jamp.randomized;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Calls that compute without training, and changes of parameters. */
final class Passes {
    private static final int PASSES_UNTIL_REPEATED = 4;

    private Passes() {}

    static void output(Player player, Draw draw, String name, boolean training) {
        boolean masks = player.scenario().has(Option.MASKS) && draw.chance(0.7);
        Batch batch = player.batches().of(draw);
        player.seen().add(name, player.net().output(batch, training, masks));
        if (!training && !player.scenario().has(Option.WEIGHT_NOISE)) {
            repeat(player, batch, name);
        }
    }

    /** Computes outputs of examples in other orders until an engine may repeat passes, and once more. */
    private static void repeat(Player player, Batch batch, String name) {
        Batch next = batch;
        for (int i = 1; i <= PASSES_UNTIL_REPEATED; i++) {
            next = next.rotated();
            player.seen().add(name + " again " + i, player.net().output(next, false, false));
        }
        player.seen().add(name + " without DL4J", player.output(next.rotated()));
    }

    /**
     * Records gradients. Stock DL4J's are NaN behind p-norms of windows of zeros, such as masked steps, and behind
     * lengths of capsules of zeros: then there's nothing to compare with.
     */
    static void seeGradients(Player player, String name, Map<String, INDArray> gradients) {
        player.seen().add(name, gradients);
        if (player.description().names("PNORM", "CapsuleStrength")) {
            double sum = gradients.values().stream()
                    .filter(Objects::nonNull)
                    .mapToDouble(gradient -> gradient.sumNumber().doubleValue())
                    .sum();
            player.seen().add(name + ": gradients that are finite", Double.isFinite(sum) ? 1 : Double.NaN);
        }
    }

    /** Computes with a clone, and trains it where it has the iteration count of stock DL4J. */
    static void copy(Player player, Draw draw, String name) {
        Net copy = player.net().copy();
        player.seen().add(name + " output", copy.output(player.batches().of(draw), false, false));
        boolean hasOutputLayer = !player.scenario().has(Option.EXTERNAL_ERRORS);
        if (hasOutputLayer
                && !player.scenario().makesOtherSteps()
                && !player.scenario().changesGradients()) {
            copy.fit(player.batches().of(draw), draw.between(0, 2));
            player.seen().add(name + " parameters", copy.model().params());
            INDArray state = copy.updaterState();
            if (state != null) {
                player.seen().add(name + " updater state", state);
            }
        }
    }

    static void outputOfTwoThreads(Player player, Draw draw, String name) {
        List<Batch> batches =
                List.of(player.batches().of(draw), player.batches().of(draw));
        // DL4J forgets masks that an earlier call has left after one pass, which may be of either thread.
        output(player, draw, name, false);
        // DL4J draws noise of biases in inference, too: two threads would do so in any order.
        int atOnce = player.scenario().has(Option.WEIGHT_NOISE) ? 1 : batches.size();
        ExecutorService threads = Executors.newFixedThreadPool(atOnce);
        try {
            List<Future<Map<String, INDArray>>> outputs = batches.stream()
                    .map(batch -> threads.submit(() -> {
                        // A thread has a generator of its own, for the noise of biases.
                        Nd4j.getRandom().setSeed(1);
                        return player.net().output(batch, false, false);
                    }))
                    .toList();
            for (int i = 0; i < outputs.size(); i++) {
                player.seen().add(name + " of thread " + i, outputs.get(i).get());
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        } finally {
            threads.shutdown();
        }
    }

    /**
     * Passes features with a column too many, which dense layers refuse before they compute: the network has to be as
     * it was.
     */
    static void refusedInput(Player player, Draw draw, String name, boolean training) {
        if (!player.description().refusesWiderInputs()) {
            return;
        }
        Batch batch = player.batches().of(draw, 3);
        INDArray features = draw.gaussian(1, 3, batch.features()[0].size(1) + 1);
        Batch wider = new Batch(new INDArray[] {features}, batch.labels(), new INDArray[1], new INDArray[1]);
        try {
            if (training) {
                player.net().fit(wider, 0);
            } else {
                player.net().output(wider, false, false);
            }
            player.seen().add(name + " was accepted", 1);
        } catch (DL4JInvalidInputException | IllegalArgumentException e) {
            // A user's kernel gets input of any shape, and its products refuse what doesn't fit.
            boolean usersProduct = player.description().names("SquaredRelu") && isOfProduct(e);
            if (!(e instanceof DL4JInvalidInputException) && !usersProduct) {
                throw e;
            }
            player.seen().add(name + " was refused", 1);
            Player.forgetWorkspaces();
        }
    }

    private static boolean isOfProduct(RuntimeException refusal) {
        return refusal.getMessage() != null && refusal.getMessage().startsWith("No product of ");
    }

    static void feedForward(Player player, Draw draw, String name, boolean training) {
        Map<String, INDArray> all = draw.chance(0.4)
                ? player.net().selected(player.batches().of(draw), draw, training)
                : player.net().feedForward(player.batches().of(draw), training);
        Map<String, INDArray> compared = new TreeMap<>(all);
        // Stock DL4J has overwritten these.
        compared.keySet().removeAll(player.description().overwritten());
        player.seen().add(name, compared);
    }

    static void timeSteps(Player player, Draw draw, String name) {
        // Preprocessors of graphs keep the number of examples of the last step, which is another one in stock DL4J.
        boolean keepsOtherSize = player.scenario().graph() && player.scenario().makesOtherSteps();
        // Graphs call the layer inside LastTimeStep. ND4J's operations of two arrays behind it, such as a distance,
        // take its
        // sequences for vectors, and write outside of arrays.
        boolean hasSequencesForVectors =
                player.scenario().graph() && player.description().names("recurrent.LastTimeStep\"");
        if (keepsNoState(player)
                || player.description().duplicatesWholeSequences()
                || keepsOtherSize
                || hasSequencesForVectors) {
            return;
        }
        boolean single = player.description().computesStepByStep() && draw.chance(0.6);
        List<Map<String, INDArray>> states = new ArrayList<>();
        for (int i = draw.between(1, 5); i > 0; i--) {
            // The number of examples stays: there is a state for each.
            Batch batch = player.batches().of(draw, 3);
            player.seen().add(name, player.net().timeSteps(batch, !single));
            // A state that nobody has read is overwritten, and needn't be rounded again.
            if (i == 1 || draw.chance(0.4)) {
                states.add(player.net().states());
                player.seen().add(name + " state", states.get(states.size() - 1));
            }
        }
        // Later time steps have left them as they were.
        states.forEach(state -> player.seen().add(name + " kept state", state));
        player.net().clearState();
    }

    /**
     * Returns whether stock DL4J has no state from step to step, takes another array for it, or masks with what an
     * earlier pass has left: networks call the layer inside MaskZeroLayer.
     */
    private static boolean keepsNoState(Player player) {
        boolean takesSteps = player.scenario().has(Option.CHANNELS_LAST)
                && player.description().names("SimpleRnn");
        return takesSteps
                || player.description().hasBidirectionalLayers()
                || player.description().names("MaskZeroLayer");
    }

    static void storedState(Player player, Draw draw, String name) {
        if (keepsNoState(player)) {
            return;
        }
        Map<String, INDArray> all = player.net().storedState(player.batches().of(draw, 3), draw.chance(0.5));
        Map<String, INDArray> compared = new TreeMap<>(all);
        compared.keySet().removeAll(player.description().overwritten());
        player.seen().add(name, compared);
        player.net().clearState();
    }

    /** Ends a group before parameters change: stock DL4J has one batch for a group, and with it one set of them. */
    static void endGroup(Player player) {
        if (player.scenario().microBatches() > 1) {
            player.applyPartialGroup();
        }
    }

    static void change(Player player, Draw draw) {
        INDArray parameters = player.net().model().params();
        endGroup(player);
        INDArray change = draw.uniform(-0.05, 0.05, parameters.shape());
        switch (draw.between(0, 4)) {
            case 0 -> player.net().model().setParams(parameters.add(change));
            case 1 -> parameters.addi(change);
            case 2 -> {
                for (int i = draw.between(1, 3); i > 0; i--) {
                    long at = draw.between(0, (int) parameters.length() - 1);
                    parameters.putScalar(at, parameters.getDouble(at) + 0.1);
                }
                player.refresh();
            }
            default -> {
                Map<String, INDArray> table = new TreeMap<>(player.net().model().paramTable());
                // Stock graphs throw where a vertex that is no layer has parameters.
                table.keySet().removeIf(key -> key.startsWith("attention"));
                if (!table.isEmpty()) {
                    String name = draw.from(List.copyOf(table.keySet()));
                    INDArray value = table.get(name);
                    player.net().model().setParam(name, value.add(draw.uniform(-0.05, 0.05, value.shape())));
                }
            }
        }
    }
}
