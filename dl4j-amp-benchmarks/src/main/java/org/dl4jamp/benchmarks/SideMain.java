package org.dl4jamp.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.dl4jamp.AmpException;
import org.dl4jamp.Precision;
import org.dl4jamp.benchmarks.blueprint.Loss;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.dl4j.BenchmarkCase;
import org.dl4jamp.benchmarks.dl4j.BenchmarkCases;
import org.dl4jamp.benchmarks.dl4j.Dl4jTraining;
import org.dl4jamp.benchmarks.dl4j.OneDnnHelpers;
import org.dl4jamp.benchmarks.dl4j.ParameterChecksum;
import org.dl4jamp.benchmarks.floor.FloorTraining;
import org.dl4jamp.benchmarks.side.SideJob;
import org.dl4jamp.benchmarks.side.Training;
import org.dl4jamp.benchmarks.side.UnavailableException;
import org.dl4jamp.engine.Engines;

/** The main program of all sides but PyTorch's. */
public final class SideMain {
    private SideMain() {}

    /**
     * Runs one repetition.
     *
     * @param args as {@link SideJob#main} takes them
     */
    public static void main(String[] args) throws IOException {
        SideJob.main(args, SideMain::training);
    }

    static Training training(String key, Path folder, SideJob job) throws IOException {
        Side side = Side.named(key);
        if (side == Side.FLOOR_BF16 || side == Side.AMP_BF16) {
            requireBfloat16();
        }
        if (side.isFloor()) {
            return new FloorTraining(Model.read(folder), side == Side.FLOOR_BF16);
        }
        BenchmarkCase benchmark = BenchmarkCases.named(job.caseName());
        Loss loss = Model.readBlueprint(folder).loss();
        NeuralNetwork network = benchmark.network();
        if (ParameterChecksum.of(network) != job.checksum()) {
            throw new IllegalStateException(
                    "the initial parameters of " + job.caseName() + " aren't those that the other sides were given");
        }
        return switch (side) {
            case DL4J_FP32 -> Dl4jTraining.stock(network, benchmark.batch(), loss);
            case DL4J_HELPERS_FP32 -> {
                OneDnnHelpers.require(network);
                yield Dl4jTraining.stock(network, benchmark.batch(), loss);
            }
            case AMP_AUTO -> Dl4jTraining.auto(network, benchmark.batch(), loss);
            case AMP_FP32 -> Dl4jTraining.amp(network, benchmark.batch(), loss, Precision.FLOAT);
            case AMP_BF16 -> Dl4jTraining.amp(network, benchmark.batch(), loss, Precision.BFLOAT16);
            default -> throw new IllegalArgumentException("side " + key + " has a main program of its own");
        };
    }

    private static void requireBfloat16() {
        try {
            Engines.choose("onednn", Precision.BFLOAT16);
        } catch (AmpException e) {
            throw new UnavailableException(e.getMessage(), e);
        }
    }
}
