package org.dl4jamp.randomized;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Calls that compute without training, and changes of parameters. */
final class Passes {
    private Passes() {}

    static void output(Player player, Draw draw, String name, boolean training) {
        boolean masks = player.scenario().has(Option.MASKS) && draw.chance(0.7);
        player.seen().add(name, player.net().output(player.batches().of(draw), training, masks));
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
        if (player.description().hasBidirectionalLayers()) {
            return;
        }
        boolean single = player.description().computesStepByStep() && draw.chance(0.6);
        for (int i = draw.between(1, 3); i > 0; i--) {
            // The number of examples stays: there is a state for each.
            Batch batch = player.batches().of(draw, 3);
            player.seen().add(name, player.net().timeSteps(batch, !single));
            player.seen().add(name + " state", player.net().states());
        }
        player.net().clearState();
    }

    static void storedState(Player player, Draw draw, String name) {
        if (player.description().hasBidirectionalLayers()) {
            return;
        }
        Map<String, INDArray> all = player.net().storedState(player.batches().of(draw, 3), draw.chance(0.5));
        Map<String, INDArray> compared = new TreeMap<>(all);
        compared.keySet().removeAll(player.description().overwritten());
        player.seen().add(name, compared);
        player.net().clearState();
    }

    static void change(Player player, Draw draw) {
        INDArray parameters = player.net().model().params();
        if (player.scenario().microBatches() > 1) {
            // Stock DL4J has one batch for a group, and with it one set of parameters.
            player.applyPartialGroup();
        }
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
