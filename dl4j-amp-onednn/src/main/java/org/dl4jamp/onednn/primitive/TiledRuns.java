package org.dl4jamp.onednn.primitive;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.bytedeco.dnnl.global.dnnl;

/**
 * Consecutive runs of kernels that compute row by row, each from the result of the one before. A tile of rows goes
 * through all of them before the next tile begins. So what is between them stays in the processors' caches, and takes
 * the memory of a tile. Without tiles large arrays go to main memory and back between two kernels.
 *
 * @param tile rows of a tile; the last one may have fewer
 */
record TiledRuns(List<Tape.Run> runs, long tile) {
    /** Bytes of a thread's part of the widest array in a tile: half of a usual second-level cache. */
    private static final long BYTES = 512 << 10;

    /** With fewer rows a thread waits for weights. */
    private static final long FEWEST_ROWS = 256;

    private static final long STEP = 64;

    /**
     * Bytes between two kernels, for each thread, from which on tiles pay: smaller arrays are in the caches anyway.
     * With 256 channels in FP32 kernels take 0.85 to 0.92 of the time, in BFLOAT16 0.87 (measured on a Zen 4). With 64
     * and 512 channels it's 0.85 and 0.96, in BFLOAT16 1.05 and 0.98.
     */
    private static final long LARGE = 4 << 20;

    /**
     * Returns the runs of a list that are faster in tiles, by the index of the first of them. Makes the kernels of
     * tiles, if they aren't there.
     */
    static Map<Integer, TiledRuns> in(List<Tape.Run> noted) {
        Map<Integer, TiledRuns> all = new HashMap<>();
        int index = 0;
        while (index < noted.size()) {
            Optional<TiledRuns> tiled = from(noted, index);
            if (tiled.isPresent()) {
                all.put(index, tiled.get());
            }
            index += tiled.map(found -> found.runs.size()).orElse(1);
        }
        return all;
    }

    private static Optional<TiledRuns> from(List<Tape.Run> noted, int first) {
        int end = first + 1;
        while (end < noted.size() && passesOn(noted, end - 1)) {
            end++;
        }
        List<Tape.Run> runs = noted.subList(first, end);
        if (runs.size() < 2) {
            return Optional.empty();
        }
        TiledRuns tiled = new TiledRuns(runs, tile(runs));
        return !overlap(tiled.source(), tiled.result()) && tiled.pays() && tiled.haveKernels()
                ? Optional.of(tiled)
                : Optional.empty();
    }

    private static Optional<Kernel.Rows> rows(Tape.Run run) {
        return Optional.ofNullable(run.kernel()).flatMap(Kernel::rows);
    }

    private static Kernel.Rows rowsOf(Tape.Run run) {
        return rows(run).orElseThrow();
    }

    private static Tape.Argument argument(Tape.Run run, int index) {
        return run.arguments().stream()
                .filter(argument -> argument.index() == index)
                .findFirst()
                .orElseThrow();
    }

    private static Tape.Argument source(Tape.Run run) {
        return argument(run, dnnl.DNNL_ARG_SRC);
    }

    private static Tape.Argument result(Tape.Run run) {
        return argument(run, dnnl.DNNL_ARG_DST);
    }

    /** Returns what the first run reads. */
    Tape.Argument source() {
        return source(runs.get(0));
    }

    /** Returns what the last run writes. */
    Tape.Argument result() {
        return result(runs.get(runs.size() - 1));
    }

    /** Returns whether the next run of a list computes row by row what a run has left for it alone. */
    private static boolean passesOn(List<Tape.Run> noted, int index) {
        Optional<Kernel.Rows> rows = rows(noted.get(index));
        Optional<Kernel.Rows> next = rows(noted.get(index + 1));
        if (rows.isEmpty()
                || next.isEmpty()
                || rows.get().count() != next.get().count()
                || rows.get().outputBytes() != next.get().inputBytes()) {
            return false;
        }
        Tape.Argument result = result(noted.get(index));
        return result.address() == source(noted.get(index + 1)).address()
                && !isUsed(result, noted.subList(index + 2, noted.size()));
    }

    /** Returns whether runs read anything of a result before one of them overwrites all of it. */
    private static boolean isUsed(Tape.Argument result, List<Tape.Run> behind) {
        for (Tape.Run run : behind) {
            if (run.arguments().stream()
                    .anyMatch(argument -> !isWrittenOnly(run, argument) && overlap(argument, result))) {
                return true;
            }
            if (run.arguments().stream()
                    .anyMatch(argument -> isWrittenOnly(run, argument) && covers(argument, result))) {
                return false;
            }
        }
        return false;
    }

    /** Returns whether an argument is the result of a kernel with rows, which reads nothing of it. */
    private static boolean isWrittenOnly(Tape.Run run, Tape.Argument argument) {
        return rows(run).isPresent() && argument.index() == dnnl.DNNL_ARG_DST;
    }

    private static boolean overlap(Tape.Argument one, Tape.Argument other) {
        return one.address() < other.address() + other.bytes() && other.address() < one.address() + one.bytes();
    }

    private static boolean covers(Tape.Argument one, Tape.Argument other) {
        return one.address() <= other.address() && one.address() + one.bytes() >= other.address() + other.bytes();
    }

    private static long tile(List<Tape.Run> runs) {
        long widest = runs.stream()
                .map(TiledRuns::rowsOf)
                .mapToLong(rows -> Math.max(rows.inputBytes(), rows.outputBytes()))
                .max()
                .orElseThrow();
        return BYTES / widest / STEP * STEP * Work.threads();
    }

    private boolean pays() {
        return tile >= FEWEST_ROWS * Work.threads()
                && runs.stream().noneMatch(run -> run.kernel().runsAlone())
                && between().anyMatch(rows -> rows.count() * rows.outputBytes() >= LARGE * Work.threads());
    }

    /** Returns the rows of those whose results are read by the next one alone. */
    private Stream<Kernel.Rows> between() {
        return runs.subList(0, runs.size() - 1).stream().map(TiledRuns::rowsOf);
    }

    private boolean haveKernels() {
        return Stream.of(tile, count() % tile).filter(rows -> rows > 0).allMatch(rows -> runs.stream()
                .allMatch(run -> rowsOf(run).kernel(rows).isPresent()));
    }

    long count() {
        return rowsOf(runs.get(0)).count();
    }

    /** Returns the bytes of a tile of the largest array between two kernels. */
    long bytesBetween() {
        return tile * between().mapToLong(Kernel.Rows::outputBytes).max().orElseThrow();
    }
}
