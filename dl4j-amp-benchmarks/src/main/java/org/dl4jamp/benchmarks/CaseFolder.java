package org.dl4jamp.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.cases.BenchmarkCase;
import org.dl4jamp.benchmarks.dl4j.BlueprintBuilder;
import org.dl4jamp.benchmarks.dl4j.ParameterChecksum;
import org.dl4jamp.benchmarks.dl4j.RunningStatistics;
import org.dl4jamp.benchmarks.side.Records;
import org.dl4jamp.benchmarks.side.Schedule;
import org.dl4jamp.benchmarks.side.SideJob;
import org.dl4jamp.benchmarks.side.Task;

/**
 * A temporary folder with what the processes of a case need: blueprint, weights, batch and job, and in inference what
 * stock DL4J makes of the batch.
 */
final class CaseFolder implements AutoCloseable {
    private final Path path;

    private CaseFolder(Path path) {
        this.path = path;
    }

    /**
     * Sets a case up.
     *
     * @param records what sides record of the measured steps
     * @throws IllegalStateException if that fails; the message names the case
     */
    static CaseFolder of(BenchmarkCase benchmark, Task task, Schedule schedule, int threads, Records records)
            throws IOException {
        CaseFolder folder = new CaseFolder(Files.createTempDirectory("amp-bench-"));
        try {
            NeuralNetwork network = benchmark.network();
            model(benchmark, task, network).write(folder.path);
            long checksum = ParameterChecksum.of(network);
            new SideJob(benchmark.name(), benchmark.minibatch(), task, schedule, threads, records, checksum)
                    .write(folder.path);
            ((org.deeplearning4j.nn.api.Model) network).close();
            return folder;
        } catch (IOException | RuntimeException | LinkageError e) {
            folder.close();
            throw new IllegalStateException("case " + benchmark.name() + " can't be set up: " + e, e);
        }
    }

    private static Model model(BenchmarkCase benchmark, Task task, NeuralNetwork network) {
        if (!benchmark.hasBlueprint()) {
            return BlueprintBuilder.none(benchmark.name(), benchmark.minibatch());
        }
        if (!task.isInference()) {
            return BlueprintBuilder.build(benchmark.name(), network, benchmark.batch());
        }
        RunningStatistics.draw(network);
        return BlueprintBuilder.withOutputs(benchmark.name(), network, benchmark.batch());
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
