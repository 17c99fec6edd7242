package org.dl4jamp.randomized;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The calls that a program may make on a network. */
@SuppressWarnings("ImmutableEnumChecker")
enum Call {
    FIT(5, (player, draw, name) -> {
        player.fit(player.batches().of(draw), false, draw.between(0, 2));
        score(player, name);
    }),
    FIT_EPOCHS(3, (player, draw, name) -> {
        int count = draw.between(1, 3);
        List<Batch> batches = new ArrayList<>();
        List<Boolean> failing = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            failing.add(player.scenario().has(Option.FAILURES) && draw.chance(0.3));
            batches.add(
                    failing.get(i)
                            ? player.batches().failing(draw)
                            : player.batches().of(draw));
        }
        player.fit(batches, failing, draw.between(1, 2));
        if (!failing.contains(true)) {
            score(player, name);
        }
    }),
    FAIL(
            5,
            Option.FAILURES,
            (player, draw, name) -> player.fit(player.batches().failing(draw), true, draw.between(0, 2))),
    APPLY_PARTIAL_GROUP(2, Option.ACCUMULATION, (player, draw, name) -> player.applyPartialGroup()),
    OUTPUT(3, (player, draw, name) -> Passes.output(player, draw, name, false)),
    OUTPUT_IN_TRAINING(1, (player, draw, name) -> Passes.output(player, draw, name, true)),
    FEED_FORWARD(2, (player, draw, name) -> Passes.feedForward(player, draw, name, false)),
    FEED_FORWARD_IN_TRAINING(1, (player, draw, name) -> Passes.feedForward(player, draw, name, true)),
    SCORE(1, (player, draw, name) -> player.seen()
            .add(name, player.net().score(player.batches().of(draw), false))),
    SCORE_IN_TRAINING(1, (player, draw, name) -> player.seen()
            .add(name, player.net().score(player.batches().of(draw), true))),
    GRADIENTS(2, (player, draw, name) -> {
        Map<String, INDArray> gradients =
                player.net().gradients(player.batches().of(draw), draw.between(0, 1));
        if (player.description().overwritesScores()) {
            gradients.remove("score");
        }
        Passes.seeGradients(player, name, gradients);
    }),
    TIME_STEPS(2, (player, draw, name) -> Passes.timeSteps(player, draw, name)),
    STORED_STATE(1, (player, draw, name) -> Passes.storedState(player, draw, name)),
    CLEAR_STATE(1, (player, draw, name) -> player.net().clearState()),
    CHANGE_PARAMETERS(2, (player, draw, name) -> Passes.change(player, draw)),
    PRETRAIN(2, (player, draw, name) -> {
        int steps = draw.between(1, 3);
        Batch batch = player.batches().of(draw);
        if (player.description().isPretrainable()) {
            Passes.endGroup(player);
            for (int i = 0; i < steps; i++) {
                player.pretrain(batch);
            }
        }
    }),
    SET_LEARNING_RATE(1, (player, draw, name) -> player.net().setLearningRate(draw.real(0.01, 0.1))),
    SAVE_AND_RESTORE(1, (player, draw, name) -> player.restore(true)),
    SAVE_AND_RESTORE_PLAINLY(1, (player, draw, name) -> player.restore(false)),
    EXTERNAL_STEP(
            6,
            Option.EXTERNAL_ERRORS,
            (player, draw, name) -> Passes.seeGradients(
                    player, name, player.net().externalStep(player.batches().of(draw)))),
    CLONE(1, (player, draw, name) -> {
        if (player.description().isCloneTrainable()) {
            Passes.copy(player, draw, name);
        }
    }),
    CONTINUE_WITH_CLONE(1, (player, draw, name) -> {
        if (player.description().isCloneTrainable()) {
            player.continueWithClone();
        }
    }),
    OUTPUT_OF_TWO_THREADS(1, (player, draw, name) -> Passes.outputOfTwoThreads(player, draw, name)),
    REFUSED_INPUT(1, (player, draw, name) -> Passes.refusedInput(player, draw, name, false)),
    REFUSED_FIT(1, (player, draw, name) -> Passes.refusedInput(player, draw, name, true)),
    CLOSE_AND_ENABLE(1, (player, draw, name) -> player.closeAndEnable()),
    PAUSE(2, (player, draw, name) -> {
        player.paused(() -> {
            for (int i = draw.between(1, 3); i > 0; i--) {
                Call call = draw.of(FIT, OUTPUT, OUTPUT_IN_TRAINING, GRADIENTS, CHANGE_PARAMETERS);
                call.makeWithin(player, draw, name);
            }
        });
    }),
    INFERENCE(4, (player, draw, name) -> {
        player.inferring(() -> {
            for (int i = draw.between(1, 5); i > 0; i--) {
                Call call = draw.of(
                        OUTPUT,
                        OUTPUT,
                        FEED_FORWARD,
                        SCORE,
                        TIME_STEPS,
                        CLEAR_STATE,
                        CHANGE_PARAMETERS,
                        CLONE,
                        OUTPUT_OF_TWO_THREADS,
                        REFUSED_INPUT);
                call.makeWithin(player, draw, name);
            }
        });
    });

    private static final Set<String> NEED_LABELS =
            Set.of("FIT", "FIT_EPOCHS", "SCORE", "SCORE_IN_TRAINING", "GRADIENTS", "REFUSED_FIT");

    private final int weight;
    private final Option need;
    private final Body body;

    /** The code of a call. */
    private interface Body {
        void make(Player player, Draw draw, String name);
    }

    Call(int weight, Body body) {
        this(weight, null, body);
    }

    Call(int weight, Option need, Body body) {
        this.weight = weight;
        this.need = need;
        this.body = body;
    }

    /** Returns its weight in draws. */
    int weight() {
        return weight;
    }

    /** Returns whether it makes sense with these options. */
    boolean suits(Set<Option> options) {
        return (need == null || options.contains(need))
                && !(options.contains(Option.EXTERNAL_ERRORS) && NEED_LABELS.contains(name()));
    }

    /** Makes it in a pause or in inference mode. */
    private void makeWithin(Player player, Draw draw, String name) {
        boolean external = player.scenario().has(Option.EXTERNAL_ERRORS) && NEED_LABELS.contains(name());
        Call call = !external ? this : this == SCORE ? OUTPUT : EXTERNAL_STEP;
        call.make(player, draw, name + ", " + call);
    }

    void make(Player player, Draw draw, String name) {
        body.make(player, draw, name);
    }

    /**
     * With accumulation, and after steps that were skipped, DL4J's score is that of another batch. A loss layer's it
     * reads from an array in which backward passes have written: its own, or without workspaces that of layer
     * normalization.
     */
    private static void score(Player player, String name) {
        boolean overwritten = player.description().overwritesScores()
                || (player.scenario().has(Option.NO_WORKSPACES)
                        && player.description().names("LossLayer"));
        if (player.scenario().microBatches() == 1 && !overwritten) {
            player.seen().add(name + ": score", player.net().model().score());
        }
    }
}
