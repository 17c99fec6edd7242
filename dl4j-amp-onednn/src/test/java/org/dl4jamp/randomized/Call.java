package org.dl4jamp.randomized;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** The calls that a program may make on a network. */
enum Call {
    FIT(5) {
        @Override
        void make(Player player, Draw draw, String name) {
            player.fit(player.batches().of(draw), false, draw.between(0, 2));
            score(player, name);
        }
    },
    FIT_EPOCHS(3) {
        @Override
        void make(Player player, Draw draw, String name) {
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
        }
    },
    FAIL(5, Option.FAILURES) {
        @Override
        void make(Player player, Draw draw, String name) {
            player.fit(player.batches().failing(draw), true, draw.between(0, 2));
        }
    },
    APPLY_PARTIAL_GROUP(2, Option.ACCUMULATION) {
        @Override
        void make(Player player, Draw draw, String name) {
            player.applyPartialGroup();
        }
    },
    OUTPUT(3) {
        @Override
        void make(Player player, Draw draw, String name) {
            Passes.output(player, draw, name, false);
        }
    },
    OUTPUT_IN_TRAINING(1) {
        @Override
        void make(Player player, Draw draw, String name) {
            Passes.output(player, draw, name, true);
        }
    },
    FEED_FORWARD(2) {
        @Override
        void make(Player player, Draw draw, String name) {
            Passes.feedForward(player, draw, name, false);
        }
    },
    FEED_FORWARD_IN_TRAINING(1) {
        @Override
        void make(Player player, Draw draw, String name) {
            Passes.feedForward(player, draw, name, true);
        }
    },
    SCORE(1) {
        @Override
        void make(Player player, Draw draw, String name) {
            player.seen().add(name, player.net().score(player.batches().of(draw), false));
        }
    },
    SCORE_IN_TRAINING(1) {
        @Override
        void make(Player player, Draw draw, String name) {
            player.seen().add(name, player.net().score(player.batches().of(draw), true));
        }
    },
    GRADIENTS(2) {
        @Override
        void make(Player player, Draw draw, String name) {
            player.seen().add(name, player.net().gradients(player.batches().of(draw), draw.between(0, 1)));
        }
    },
    TIME_STEPS(2) {
        @Override
        void make(Player player, Draw draw, String name) {
            Passes.timeSteps(player, draw, name);
        }
    },
    STORED_STATE(1) {
        @Override
        void make(Player player, Draw draw, String name) {
            Passes.storedState(player, draw, name);
        }
    },
    CLEAR_STATE(1) {
        @Override
        void make(Player player, Draw draw, String name) {
            player.net().clearState();
        }
    },
    CHANGE_PARAMETERS(2) {
        @Override
        void make(Player player, Draw draw, String name) {
            Passes.change(player, draw);
        }
    },
    SET_LEARNING_RATE(1) {
        @Override
        void make(Player player, Draw draw, String name) {
            player.net().setLearningRate(draw.real(0.01, 0.1));
        }
    },
    SAVE_AND_RESTORE(1) {
        @Override
        void make(Player player, Draw draw, String name) {
            player.restore(true);
        }
    },
    SAVE_AND_RESTORE_PLAINLY(1) {
        @Override
        void make(Player player, Draw draw, String name) {
            player.restore(false);
        }
    },
    EXTERNAL_STEP(6, Option.EXTERNAL_ERRORS) {
        @Override
        void make(Player player, Draw draw, String name) {
            player.seen().add(name, player.net().externalStep(player.batches().of(draw)));
        }
    },
    CLONE(1) {
        @Override
        void make(Player player, Draw draw, String name) {
            if (player.description().isCloneTrainable()) {
                Passes.copy(player, draw, name);
            }
        }
    },
    CONTINUE_WITH_CLONE(1) {
        @Override
        void make(Player player, Draw draw, String name) {
            if (player.description().isCloneTrainable()) {
                player.continueWithClone();
            }
        }
    },
    OUTPUT_OF_TWO_THREADS(1) {
        @Override
        void make(Player player, Draw draw, String name) {
            Passes.outputOfTwoThreads(player, draw, name);
        }
    },
    REFUSED_INPUT(1) {
        @Override
        void make(Player player, Draw draw, String name) {
            Passes.refusedInput(player, draw, name, false);
        }
    },
    REFUSED_FIT(1) {
        @Override
        void make(Player player, Draw draw, String name) {
            Passes.refusedInput(player, draw, name, true);
        }
    },
    CLOSE_AND_ENABLE(1) {
        @Override
        void make(Player player, Draw draw, String name) {
            player.closeAndEnable();
        }
    },
    PAUSE(2) {
        @Override
        void make(Player player, Draw draw, String name) {
            player.paused(() -> {
                for (int i = draw.between(1, 3); i > 0; i--) {
                    Call call = draw.of(FIT, OUTPUT, OUTPUT_IN_TRAINING, GRADIENTS, CHANGE_PARAMETERS);
                    call.makeWithin(player, draw, name);
                }
            });
        }
    },
    INFERENCE(4) {
        @Override
        void make(Player player, Draw draw, String name) {
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
        }
    };

    private static final Set<String> NEED_LABELS =
            Set.of("FIT", "FIT_EPOCHS", "SCORE", "SCORE_IN_TRAINING", "GRADIENTS", "REFUSED_FIT");

    private final int weight;
    private final Option need;

    Call(int weight) {
        this(weight, null);
    }

    Call(int weight, Option need) {
        this.weight = weight;
        this.need = need;
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

    abstract void make(Player player, Draw draw, String name);

    /**
     * With accumulation, and after steps that were skipped, DL4J's score is that of another batch. A loss layer's it
     * reads from an array in which its backward passes have written; without workspaces that of layer normalization
     * has.
     */
    private static void score(Player player, String name) {
        boolean overwritten = player.scenario().has(Option.NO_WORKSPACES)
                && player.description().names("LossLayer");
        if (player.scenario().microBatches() == 1 && !overwritten) {
            player.seen().add(name + ": score", player.net().model().score());
        }
    }
}
