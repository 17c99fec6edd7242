package org.dl4jamp.onednn.primitive;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;
import org.bytedeco.dnnl.global.dnnl;
import org.dl4jamp.onednn.memory.Gather;
import org.dl4jamp.onednn.memory.MemoryRanges;
import org.dl4jamp.onednn.memory.Place;
import org.dl4jamp.onednn.memory.Workspaces;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs of which only every other position is read, for example, by pointwise convolutions with steps. They compute
 * these positions and no others. A pointwise run among them reads the same positions of its own input. So what is
 * before it computes fewer, too, up to a run with larger windows. In a ResNet whose blocks begin with such
 * convolutions, these are the last two convolutions of each stage.
 *
 * <p>Each number is computed as before, of the same numbers.
 */
final class SampledRuns {
    private static final Logger LOG = LoggerFactory.getLogger(SampledRuns.class);

    private static final LongAdder SAMPLED = new LongAdder();

    private final List<Tape.Run> noted;
    private final List<Place> kept;
    /** The runs that read a run's result, all of it; none if others read it, too, or parts of it. */
    private final Map<Integer, List<Integer>> readers = new HashMap<>();
    /** The run that has made what a run reads. */
    private final Map<Integer, Integer> sources = new HashMap<>();
    /** The steps between those positions of a run's result that are read. */
    private final Map<Integer, List<Long>> sampled = new HashMap<>();

    private final Map<Integer, INDArray> results = new HashMap<>();

    /**
     * Returns the runs of a list, with other ones in place of some. Makes kernels, if they aren't there.
     *
     * @param kept the results that are read after the list
     */
    static List<Tape.Run> in(List<Tape.Run> noted, List<Place> kept) {
        SampledRuns runs = new SampledRuns(noted, kept);
        runs.find();
        return runs.rewritten();
    }

    /** Returns how many runs of lists were made in this process that compute some of the positions. */
    static long sampled() {
        return SAMPLED.sum();
    }

    private SampledRuns(List<Tape.Run> noted, List<Place> kept) {
        this.noted = noted;
        this.kept = kept;
    }

    private void find() {
        for (int run = noted.size() - 1; run >= 0; run--) {
            find(run);
        }
        boolean changes;
        do {
            changes = sampled.keySet().removeIf(run -> !isConsistent(run))
                    || sampled.keySet().removeIf(run -> !haveKernels(run));
        } while (changes);
    }

    private void find(int run) {
        Optional<Positions> positions = positions(run);
        if (positions.isEmpty()) {
            return;
        }
        List<Integer> all = readers(run);
        readers.put(run, all);
        all.forEach(reader -> sources.put(reader, run));
        if (positions.get().hasParts() && readsOneArray(run)) {
            stepsOfReaders(run).ifPresent(steps -> sampled.put(run, steps));
        }
    }

    private Optional<Positions> positions(int run) {
        return Optional.ofNullable(noted.get(run).kernel()).flatMap(Kernel::positions);
    }

    /** Returns whether a run reads no activations besides its input, such as a summand. */
    private boolean readsOneArray(int run) {
        return noted.get(run).arguments().stream()
                .filter(Tape.Argument::isRead)
                .allMatch(argument -> argument.index() == dnnl.DNNL_ARG_SRC);
    }

    private List<Integer> readers(int run) {
        Tape.Argument result = noted.get(run).to();
        MemoryRanges left = new MemoryRanges();
        left.add(result.address(), result.bytes());
        List<Integer> all = new ArrayList<>();
        for (int later = run + 1; later < noted.size() && !left.ends().isEmpty(); later++) {
            for (Tape.Argument argument : noted.get(later).arguments()) {
                if (isRead(noted.get(later), argument) && left.overlap(argument.address(), argument.bytes())) {
                    if (!isWhole(argument, result) || !left.contain(result.address(), result.bytes())) {
                        return List.of();
                    }
                    all.add(later);
                }
            }
            noted.get(later).arguments().stream()
                    .filter(argument -> argument.isWritten() && !argument.hasGaps())
                    .forEach(argument -> left.remove(argument.address(), argument.bytes()));
        }
        boolean isKept = kept.stream().anyMatch(place -> left.overlap(place.address(), place.bytes()));
        return isKept ? List.of() : all;
    }

    /** Products of activations read one of them as their weights, and a sum in place reads what it writes. */
    private static boolean isRead(Tape.Run run, Tape.Argument argument) {
        return !argument.isWritten() || (run.kernel() != null && run.kernel().readsOutput());
    }

    private static boolean isWhole(Tape.Argument argument, Tape.Argument result) {
        return argument.index() == dnnl.DNNL_ARG_SRC
                && argument.address() == result.address()
                && argument.bytes() == result.bytes();
    }

    /** Returns the steps of all that read a run's result; empty if they differ, or if one reads all positions. */
    private Optional<List<Long>> stepsOfReaders(int run) {
        List<Optional<List<Long>>> distinct = readers.get(run).stream()
                .map(reader -> stepsOfReader(run, reader))
                .distinct()
                .toList();
        return distinct.size() == 1 ? distinct.get(0) : Optional.empty();
    }

    private Optional<List<Long>> stepsOfReader(int run, int reader) {
        Positions made = positions(run).orElseThrow();
        return positions(reader)
                .filter(positions ->
                        positions.isPointwise() && positions.input().equals(made.output()))
                .filter(positions -> !positions.isCopy() || !readers.get(reader).isEmpty())
                .flatMap(positions -> positions.hasSteps()
                        ? Optional.of(positions.steps())
                        : Optional.ofNullable(sampled.get(reader)));
    }

    /** Returns whether a run's readers take the positions, and a pointwise run finds these alone. */
    private boolean isConsistent(int run) {
        List<Long> steps = sampled.get(run);
        return stepsOfReaders(run).equals(Optional.of(steps))
                && (!positions(run).orElseThrow().isPointwise() || steps.equals(sampled.get(sources.get(run))));
    }

    private boolean haveKernels(int run) {
        try {
            return kernel(run).isPresent()
                    && readers.get(run).stream()
                            .allMatch(reader ->
                                    isDropped(reader) || kernel(reader).isPresent());
        } catch (KernelFailure e) {
            LOG.debug("All positions are computed: {}", e.getMessage());
            return false;
        }
    }

    /** Returns the kernel in place of a run's. */
    private Optional<Kernel> kernel(int run) {
        Optional<Positions.Selection> selection = positions(run).flatMap(Positions::selection);
        if (sampled.containsKey(run)) {
            return selection.orElseThrow().kernel(sampled.get(run));
        }
        if (isSampled(sources.get(run))) {
            // It reads the positions without gaps, and its own are all of them.
            List<Long> all = positions(run).orElseThrow().steps().stream()
                    .map(step -> 1L)
                    .toList();
            return selection.orElseThrow().kernel(all);
        }
        return Optional.ofNullable(noted.get(run).kernel());
    }

    private boolean isSampled(Integer run) {
        return run != null && sampled.containsKey(run);
    }

    /** Returns whether a run copies positions that are without gaps now. */
    private boolean isDropped(Integer run) {
        return run != null
                && isSampled(sources.get(run))
                && positions(run).orElseThrow().isCopy();
    }

    private List<Tape.Run> rewritten() {
        if (sampled.isEmpty()) {
            return noted;
        }
        sampled.keySet().forEach(run -> results.put(run, memory(kernel(run).orElseThrow())));
        SAMPLED.add(sampled.size());
        List<Tape.Run> all = new ArrayList<>();
        for (int run = 0; run < noted.size(); run++) {
            if (isDropped(run)) {
                continue;
            }
            if (sampled.containsKey(run) && noted.get(run).kernel().readsOutput()) {
                all.add(copiesOfSummand(run));
            }
            all.add(rewritten(run));
        }
        return all;
    }

    /** Returns memory for what a kernel writes. */
    private static INDArray memory(Kernel kernel) {
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            return Nd4j.createUninitialized(DataType.INT8, kernel.bytes(dnnl.DNNL_ARG_DST));
        }
    }

    private Tape.Run copiesOfSummand(int run) {
        Tape.Argument all = noted.get(run).to();
        Gather copies =
                positions(run).flatMap(Positions::selection).orElseThrow().copies(sampled.get(run));
        return new Tape.Run(
                null,
                copies,
                List.of(
                        new Tape.Argument(dnnl.DNNL_ARG_FROM, all.owner(), all.address(), all.bytes(), false),
                        result(dnnl.DNNL_ARG_TO, run)));
    }

    private Tape.Argument result(int index, int run) {
        INDArray result = results.get(run);
        return new Tape.Argument(index, result, Workspaces.address(result), result.length(), false);
    }

    private Tape.Run rewritten(int run) {
        Integer source = sources.get(run);
        Integer from = isDropped(source) ? sources.get(source) : source;
        boolean reads = isSampled(from);
        boolean writes = sampled.containsKey(run);
        Tape.Run before = noted.get(run);
        if (!reads && !writes) {
            return before;
        }
        Kernel kernel = before.kernel() == null ? null : kernel(run).orElseThrow();
        List<Tape.Argument> arguments = new ArrayList<>();
        for (Tape.Argument argument : before.arguments()) {
            switch (argument.index()) {
                case dnnl.DNNL_ARG_SRC -> arguments.add(reads ? result(dnnl.DNNL_ARG_SRC, from) : argument);
                case dnnl.DNNL_ARG_DST -> arguments.add(writes ? result(dnnl.DNNL_ARG_DST, run) : argument);
                case dnnl.DNNL_ARG_SCRATCHPAD -> {}
                default -> arguments.add(argument);
            }
        }
        if (kernel != null) {
            kernel.scratchpad()
                    .ifPresent(address ->
                            arguments.add(new Tape.Argument(dnnl.DNNL_ARG_SCRATCHPAD, null, address, 0, true)));
        }
        return new Tape.Run(kernel, before.parts(), arguments);
    }
}
