package org.dl4jamp.inference;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.NetworkCall;
import org.dl4jamp.engine.PassRecorder;
import org.dl4jamp.layer.RepeatedPart;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Repeats the layers from the first to the last of a stretch as one list of what the engine does, at the first layer's
 * turn. The others recognize such a pass by their input array, and return the result that was noted.
 *
 * <p>After some passes of one thread one is noted. In the next one the list is tried: it has to give the very numbers
 * that the layers compute after it. From then on it's repeated. It's dropped when weights, memory, kernels or the
 * input's shape change. Passes with masks, and those that don't return the network's outputs alone, are computed layer
 * by layer.
 *
 * <p>To be used by one thread at a time.
 */
public final class Repetition {
    /** Passes of one shape before one is noted: the first makes the kernels. */
    private static final int PASSES_BEFORE = 1;

    /** Passes that have to be repeated, so that it was worth noting and trying the list. */
    private static final int WORTH = 4;

    private static final int LONGEST_WAIT = 1024;

    /** Lists of one thread that turn out to be incomplete or wrong, before no more are noted. */
    private static final int FAILURES = 3;

    private static final LongAdder REPEATED = new LongAdder();

    private enum Phase {
        COMPUTED,
        NOTED,
        TRIED,
        REPEATED
    }

    /** The passes of one thread. */
    private final class Passes {
        private final List<Turn> turns = new ArrayList<>();
        private Phase phase = Phase.COMPUTED;
        private int before;
        /** The weights of the pass that was noted. */
        private long version;

        private int wait = PASSES_BEFORE;
        private int repeats;
        private int failures;
        private long[] shape = {};
        /** The next turn of a pass that is repeated or tried; 0 if there is none. */
        private int next;

        private boolean notes;
        private PassRecorder.Recording recording;
        private float[] tried;

        INDArray begin(INDArray given, boolean training, LayerWorkspaceMgr workspaceMgr) {
            interrupt();
            if (given == null || failures == FAILURES || training || isMasked() || !isOfOutputs(workspaceMgr)) {
                return null;
            }
            switch (phase) {
                case COMPUTED -> note(given, workspaceMgr);
                case REPEATED -> {
                    return repeat(given, workspaceMgr);
                }
                default -> tryOut(given, workspaceMgr);
            }
            return null;
        }

        /** Ends what the pass before has left. */
        void interrupt() {
            next = 0;
            if (notes) {
                notes = false;
                recorder.end().ifPresent(PassRecorder.Recording::close);
                drop();
            } else if (phase == Phase.TRIED) {
                drop();
            }
        }

        private void note(INDArray given, LayerWorkspaceMgr workspaceMgr) {
            before = Arrays.equals(shape, given.shape()) ? before + 1 : 1;
            shape = given.shape();
            if (before > wait) {
                turns.clear();
                version = weights.getAsLong();
                notes = version >= 0 && recorder.begin(given, workspaceMgr);
            }
        }

        private void tryOut(INDArray given, LayerWorkspaceMgr workspaceMgr) {
            if (!repeats(given, workspaceMgr)) {
                drop();
                return;
            }
            phase = Phase.TRIED;
            tried = turns.get(turns.size() - 1).numbers();
        }

        private INDArray repeat(INDArray given, LayerWorkspaceMgr workspaceMgr) {
            if (!repeats(given, workspaceMgr)) {
                drop();
                return null;
            }
            REPEATED.increment();
            repeats++;
            next = 1;
            return turns.get(0).result();
        }

        private boolean repeats(INDArray given, LayerWorkspaceMgr workspaceMgr) {
            return weights.getAsLong() == version && recording.repeat(given, workspaceMgr);
        }

        INDArray goOn(Member member, INDArray given, LayerWorkspaceMgr workspaceMgr) {
            if (phase != Phase.REPEATED || next == 0) {
                return null;
            }
            Turn turn = turns.get(next);
            if (turn.member() != member) {
                // A program calls the layer itself.
                next = 0;
                return null;
            }
            next = (next + 1) % turns.size();
            boolean isHandedOn = recorder.isHandedOn(workspaceMgr);
            if (!isGiven(turn, given)) {
                next = 0;
                throw ComputedAlready.withAnother(member.name, "keep the layer in full precision (keepFull)");
            }
            // Memory of other results than the last one may be that of later ones.
            if (!isHandedOn && next > 0) {
                next = 0;
                throw ComputedAlready.toKeep(member.name);
            }
            return isHandedOn ? turn.result() : workspaceMgr.dup(ArrayType.ACTIVATIONS, turn.result());
        }

        void computed(Member member, INDArray given, INDArray result, boolean byTwin) {
            if (notes) {
                boolean goesOn = byTwin && members.get(turns.size()) == member && recorder.covers(result);
                if (goesOn) {
                    // The input of the network isn't kept.
                    turns.add(new Turn(member, turns.isEmpty() ? null : given, result));
                }
                if (!goesOn || turns.size() == members.size()) {
                    stopNoting();
                }
            } else if (phase == Phase.TRIED) {
                compare(member, given, result, byTwin);
            }
        }

        private void stopNoting() {
            notes = false;
            recording = recorder.end().orElse(null);
            if (recording == null || turns.size() < 2) {
                fail();
            } else {
                phase = Phase.NOTED;
            }
        }

        // Most are the very object. Some of DL4J's preprocessors make another of the same numbers for each pass.
        @SuppressWarnings("ReferenceEquality")
        private boolean isGiven(Turn turn, INDArray given) {
            return turn.given() == given || recorder.areSame(turn.given(), given);
        }

        @SuppressWarnings("ReferenceEquality")
        private void compare(Member member, INDArray given, INDArray result, boolean byTwin) {
            Turn turn = turns.get(next);
            boolean same =
                    byTwin && turn.member() == member && (next == 0 || isGiven(turn, given)) && turn.result() == result;
            next++;
            boolean done = next == turns.size();
            if (!same || (done && !Arrays.equals(tried, turn.numbers()))) {
                fail();
            } else if (done) {
                next = 0;
                tried = null;
                phase = Phase.REPEATED;
            }
        }

        private void drop() {
            if (recording != null) {
                recording.close();
            }
            recording = null;
            turns.clear();
            tried = null;
            phase = Phase.COMPUTED;
            before = 0;
            next = 0;
            wait = repeats < WORTH ? Math.min(2 * wait, LONGEST_WAIT) : PASSES_BEFORE;
            repeats = 0;
        }

        private void fail() {
            drop();
            failures++;
        }
    }

    /** The part of a layer or vertex. */
    private final class Member implements RepeatedPart {
        private final String name;

        Member(String name) {
            this.name = name;
        }

        @Override
        public INDArray repeated(INDArray given, boolean training, LayerWorkspaceMgr workspaceMgr) {
            return this == members.get(0)
                    ? passes.computeIfAbsent(Thread.currentThread(), thread -> new Passes())
                            .begin(given, training, workspaceMgr)
                    : ofThread().map(own -> own.goOn(this, given, workspaceMgr)).orElse(null);
        }

        @Override
        public void leftToDl4j() {
            ofThread().ifPresent(Passes::interrupt);
        }

        @Override
        public void computed(INDArray given, INDArray result, boolean byTwin) {
            ofThread().ifPresent(own -> own.computed(this, given, result, byTwin));
        }

        private Optional<Passes> ofThread() {
            return Optional.ofNullable(passes.get(Thread.currentThread()));
        }
    }

    private final PassRecorder recorder;
    private final boolean reachesLast;
    private final LongSupplier weights;
    private final List<Member> members = new ArrayList<>();
    private final List<Layer> masters = new ArrayList<>();
    private final Map<Thread, Passes> passes = new WeakHashMap<>();

    /**
     * @param reachesLast whether passes that hand the first activations on reach the last layer added, and each layer
     *     computes its own; else the stack tells what a pass returns
     * @param weights returns the version of the weights, which another thread's pass may have changed; negative if some
     *     have to be taken over before the next pass
     */
    public Repetition(PassRecorder recorder, boolean reachesLast, LongSupplier weights) {
        this.recorder = recorder;
        this.reachesLast = reachesLast;
        this.weights = weights;
    }

    /** Returns how many passes were repeated in this process. */
    public static long repeated() {
        return REPEATED.sum();
    }

    /**
     * Adds the next layer or vertex of the stretch, in the order in which the network computes.
     *
     * @param master the network's own layer; empty for a vertex
     */
    public RepeatedPart add(String name, Optional<Layer> master) {
        Member member = new Member(name);
        members.add(member);
        master.ifPresent(masters::add);
        return member;
    }

    /** Returns whether nobody asks for activations of single layers in a pass, or of all of them. */
    private boolean isOfOutputs(LayerWorkspaceMgr ofFirst) {
        return recorder.isHandedOn(ofFirst) && (reachesLast || NetworkCall.returnsOutputs());
    }

    private boolean isMasked() {
        return masters.stream().anyMatch(master -> master.getMaskArray() != null);
    }
}
