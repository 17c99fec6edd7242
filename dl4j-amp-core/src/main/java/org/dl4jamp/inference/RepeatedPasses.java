package org.dl4jamp.inference;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.PassRecorder;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The passes of one thread in a {@link Repetition}. */
final class RepeatedPasses {
    /** Passes of one shape before one is noted: the first makes the kernels. */
    private static final int PASSES_BEFORE = 1;

    /** Passes that have to be repeated, so that it was worth noting and trying the list. */
    private static final int WORTH = 4;

    private static final int LONGEST_WAIT = 1024;

    /** Lists of one thread that turn out to be incomplete or wrong, before no more are noted. */
    private static final int FAILURES = 3;

    private static final LongAdder REPEATED = new LongAdder();

    private static final LongAdder DIRECT = new LongAdder();

    private enum Phase {
        COMPUTED,
        NOTED,
        TRIED,
        REPEATED
    }

    private final Repetition repetition;
    private final PassRecorder recorder;
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

    RepeatedPasses(Repetition repetition, PassRecorder recorder) {
        this.repetition = repetition;
        this.recorder = recorder;
    }

    /** Returns how many passes were repeated in this process. */
    static long repeated() {
        return REPEATED.sum();
    }

    /** Returns how many of them DL4J had no part in. */
    static long direct() {
        return DIRECT.sum();
    }

    INDArray begin(INDArray given, boolean training, LayerWorkspaceMgr workspaceMgr) {
        interrupt();
        if (given == null
                || failures == FAILURES
                || training
                || repetition.isMasked()
                || !repetition.isOfOutputs(workspaceMgr)) {
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
            recorder.cancel();
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
            version = repetition.version();
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
        return repetition.version() == version && recording.repeat(given, workspaceMgr);
    }

    Optional<INDArray> output(INDArray features, boolean takesRows) {
        interrupt();
        if (phase != Phase.REPEATED || turns.size() < repetition.members().size() || repetition.isMasked()) {
            return Optional.empty();
        }
        if (repetition.version() != version || !recording.repeat(features, takesRows)) {
            // Not dropped: the network's own pass, which follows, decides that.
            return Optional.empty();
        }
        REPEATED.increment();
        DIRECT.increment();
        repeats++;
        return Optional.of(turns.get(turns.size() - 1).result());
    }

    INDArray goOn(Repetition.Member member, INDArray given, LayerWorkspaceMgr workspaceMgr) {
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
            throw ComputedAlready.withAnother(member.name(), "keep the layer in full precision (keepFull)");
        }
        // Memory of other results than the last one may be that of later ones.
        if (!isHandedOn && next > 0) {
            next = 0;
            throw ComputedAlready.toKeep(member.name());
        }
        return isHandedOn ? turn.result() : workspaceMgr.dup(ArrayType.ACTIVATIONS, turn.result());
    }

    void computed(Repetition.Member member, INDArray given, INDArray result, boolean byTwin) {
        if (notes) {
            boolean goesOn = byTwin && repetition.members().get(turns.size()) == member && recorder.covers(result);
            if (goesOn) {
                // The input of the network isn't kept.
                turns.add(new Turn(member, turns.isEmpty() ? null : given, result));
            }
            if (!goesOn || turns.size() == repetition.members().size()) {
                stopNoting();
            }
        } else if (phase == Phase.TRIED) {
            compare(member, given, result, byTwin);
        }
    }

    private void stopNoting() {
        notes = false;
        recording = recorder.end(read()).orElse(null);
        if (recording == null || turns.size() < 2) {
            fail();
        } else {
            phase = Phase.NOTED;
        }
    }

    /**
     * Returns the results that are read after the list. After a list that gave other numbers it's all of them: then the
     * next one computes nothing else than the layers do.
     */
    private List<INDArray> read() {
        Set<String> within = turns.stream().map(turn -> turn.member().name()).collect(Collectors.toSet());
        return turns.stream()
                .filter(turn -> failures > 0 || turn.member().isReadOutside(within))
                .map(Turn::result)
                .toList();
    }

    // Most are the very object. Some of DL4J's preprocessors make another of the same numbers for each pass.
    @SuppressWarnings("ReferenceEquality")
    private boolean isGiven(Turn turn, INDArray given) {
        return turn.given() == given || recorder.areSame(turn.given(), given);
    }

    @SuppressWarnings("ReferenceEquality")
    private void compare(Repetition.Member member, INDArray given, INDArray result, boolean byTwin) {
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
