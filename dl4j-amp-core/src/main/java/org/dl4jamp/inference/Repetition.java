package org.dl4jamp.inference;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.NetworkCall;
import org.dl4jamp.engine.PassRecorder;
import org.dl4jamp.layer.RepeatedPart;
import org.dl4jamp.twin.LayerContext;
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
    /** The part of a layer or vertex. */
    final class Member implements RepeatedPart {
        private final String name;
        private final Predicate<Set<String>> isReadOutside;

        private Member(String name, Predicate<Set<String>> isReadOutside) {
            this.name = name;
            this.isReadOutside = isReadOutside;
        }

        String name() {
            return name;
        }

        /** Returns whether others than some layers and vertices read the result. */
        boolean isReadOutside(Set<String> some) {
            return isReadOutside.test(some);
        }

        @Override
        public INDArray repeated(INDArray given, boolean training, LayerWorkspaceMgr workspaceMgr) {
            return this == members.get(0)
                    ? passes.computeIfAbsent(
                                    Thread.currentThread(), thread -> new RepeatedPasses(Repetition.this, recorder))
                            .begin(given, training, workspaceMgr)
                    : ofThread().map(own -> own.goOn(this, given, workspaceMgr)).orElse(null);
        }

        @Override
        public void leftToDl4j() {
            ofThread().ifPresent(RepeatedPasses::interrupt);
        }

        @Override
        public void computed(INDArray given, INDArray result, boolean byTwin) {
            ofThread().ifPresent(own -> own.computed(this, given, result, byTwin));
        }

        private Optional<RepeatedPasses> ofThread() {
            return Optional.ofNullable(passes.get(Thread.currentThread()));
        }
    }

    private final PassRecorder recorder;
    private final boolean reachesLast;
    private final LongSupplier weights;
    private final List<Member> members = new ArrayList<>();
    private final List<Layer> masters = new ArrayList<>();
    private final List<LayerContext.PassCheck> checks = new ArrayList<>();
    private final Map<Thread, RepeatedPasses> passes = new WeakHashMap<>();

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
        return RepeatedPasses.repeated();
    }

    /** Returns how many of them were computed by {@link DirectOutput}. */
    public static long direct() {
        return RepeatedPasses.direct();
    }

    /**
     * Adds the next layer or vertex of the stretch, in the order in which the network computes.
     *
     * @param master the network's own layer; empty for a vertex
     * @param check decides which passes are left to DL4J
     * @param isReadOutside returns whether others than some layers and vertices, by their names, read the result
     */
    public RepeatedPart add(
            String name, Optional<Layer> master, LayerContext.PassCheck check, Predicate<Set<String>> isReadOutside) {
        Member member = new Member(name, isReadOutside);
        checks.add(check);
        members.add(member);
        master.ifPresent(masters::add);
        return member;
    }

    /**
     * Repeats the layers for a program that asks for nothing but the network's output.
     *
     * @param takesRows whether images may be given as rows, which DL4J reshapes for the first layer
     * @return the result of the last one, which the next pass overwrites; empty if DL4J has to go through them this
     *     time
     */
    Optional<INDArray> output(INDArray features, boolean takesRows) {
        RepeatedPasses own = passes.get(Thread.currentThread());
        return own == null || isLeftToDl4j(features) ? Optional.empty() : own.output(features, takesRows);
    }

    /** Each check takes note of it, also for layers behind. Arrays from outside of the engine are the features. */
    private boolean isLeftToDl4j(INDArray features) {
        boolean left = false;
        for (LayerContext.PassCheck check : checks) {
            left |= check.leavesToDl4j(false, features);
        }
        return left;
    }

    /** Returns the layers and vertices, in the order in which the network computes. */
    List<Member> members() {
        return members;
    }

    /** Returns the version of the weights; negative if some have to be taken over before the next pass. */
    long version() {
        return weights.getAsLong();
    }

    /** Returns whether nobody asks for activations of single layers in a pass, or of all of them. */
    boolean isOfOutputs(LayerWorkspaceMgr ofFirst) {
        return recorder.isHandedOn(ofFirst) && (reachesLast || NetworkCall.returnsOutputs());
    }

    boolean isMasked() {
        return masters.stream().anyMatch(master -> master.getMaskArray() != null);
    }
}
