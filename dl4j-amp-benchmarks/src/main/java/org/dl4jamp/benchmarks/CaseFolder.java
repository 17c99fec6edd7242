package org.dl4jamp.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.dl4jamp.benchmarks.dl4j.BenchmarkCase;
import org.dl4jamp.benchmarks.dl4j.BlueprintBuilder;
import org.dl4jamp.benchmarks.dl4j.ParameterChecksum;
import org.dl4jamp.benchmarks.side.Schedule;
import org.dl4jamp.benchmarks.side.SideJob;

/** A temporary folder with what the processes of a case need: blueprint, weights, batch and job. */
final class CaseFolder implements AutoCloseable {
    private final Path path;

    private CaseFolder(Path path) {
        this.path = path;
    }

    /**
     * Sets a case up.
     *
     * @param profile whether sides record where their time goes
     * @throws IllegalStateException if that fails; the message names the case
     */
    static CaseFolder of(BenchmarkCase benchmark, Schedule schedule, int threads, boolean profile) throws IOException {
        CaseFolder folder = new CaseFolder(Files.createTempDirectory("amp-bench-"));
        try {
            NeuralNetwork network = benchmark.network();
            BlueprintBuilder.build(benchmark.name(), network, benchmark.batch()).write(folder.path);
            new SideJob(benchmark.name(), schedule, threads, profile, ParameterChecksum.of(network)).write(folder.path);
            ((org.deeplearning4j.nn.api.Model) network).close();
            return folder;
        } catch (IOException | RuntimeException | LinkageError e) {
            folder.close();
            throw new IllegalStateException("case " + benchmark.name() + " can't be set up: " + e, e);
        }
    }

    Path path() {
        return path;
    }

    @Override
    public void close() throws IOException {
        List<Path> contents;
        try (Stream<Path> walk = Files.walk(path)) {
            contents = walk.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path each : contents) {
            Files.delete(each);
        }
    }
}
