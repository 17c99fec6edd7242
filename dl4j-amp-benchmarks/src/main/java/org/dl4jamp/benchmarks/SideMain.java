package org.dl4jamp.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.dl4jamp.benchmarks.blueprint.Loss;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.cases.BenchmarkCase;
import org.dl4jamp.benchmarks.cases.BenchmarkCases;
import org.dl4jamp.benchmarks.dl4j.Dl4jInference;
import org.dl4jamp.benchmarks.dl4j.Dl4jTraining;
import org.dl4jamp.benchmarks.dl4j.OneDnnHelpers;
import org.dl4jamp.benchmarks.dl4j.ParameterChecksum;
import org.dl4jamp.benchmarks.dl4j.RunningStatistics;
import org.dl4jamp.benchmarks.floor.FloorInference;
import org.dl4jamp.benchmarks.floor.FloorTraining;
import org.dl4jamp.benchmarks.process.Side;
import org.dl4jamp.benchmarks.side.Inference;
import org.dl4jamp.benchmarks.side.SideJob;
import org.dl4jamp.benchmarks.side.Training;
import org.dl4jamp.benchmarks.side.UnavailableException;
import org.dl4jamp.engine.Engines;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The main program of all sides but PyTorch's. */
public final class SideMain implements SideJob.Factory {
    private SideMain() {}

    /**
     * Runs one repetition.
     *
     * @param args as {@link SideJob#main} takes them
     */
    public static void main(String[] args) throws IOException {
        SideJob.main(args, new SideMain());
    }

    @Override
    public Training training(String key, Path folder, SideJob job) throws IOException {
        Side side = able(key);
        if (side.isFloor()) {
            return new FloorTraining(Model.read(folder), side == Side.FLOOR_BF16);
        }
        BenchmarkCase benchmark = benchmark(job);
        Loss loss = Model.readBlueprint(folder).loss();
        NeuralNetwork network = benchmark.network();
        requireSameParameters(network, job);
        return switch (side) {
            case DL4J_FP32 -> Dl4jTraining.stock(network, benchmark.batch(), loss);
            case DL4J_HELPERS_FP32 -> {
                OneDnnHelpers.require(network);
                yield Dl4jTraining.stock(network, benchmark.batch(), loss);
            }
            case AMP_AUTO -> Dl4jTraining.auto(network, benchmark.batch(), loss);
            case AMP_FP32 -> Dl4jTraining.amp(network, benchmark.batch(), loss, Precision.FLOAT);
            case AMP_BF16 -> Dl4jTraining.amp(network, benchmark.batch(), loss, Precision.BFLOAT16);
            case AMP_FP32_WATCHED -> Dl4jTraining.watched(network, benchmark.batch(), loss, Precision.FLOAT);
            case AMP_BF16_WATCHED -> Dl4jTraining.watched(network, benchmark.batch(), loss, Precision.BFLOAT16);
            default -> throw hasItsOwn(side);
        };
    }

    @Override
    public Inference inference(String key, Path folder, SideJob job) throws IOException {
        Side side = able(key);
        if (side.isFloor()) {
            return new FloorInference(Model.read(folder), side == Side.FLOOR_BF16, job.task());
        }
        BenchmarkCase benchmark = benchmark(job);
        NeuralNetwork network = benchmark.network();
        RunningStatistics.draw(network);
        requireSameParameters(network, job);
        INDArray features = benchmark.batch().getFeatures();
        return switch (side) {
            case DL4J_FP32 -> Dl4jInference.stock(network, features, job.task());
            case DL4J_HELPERS_FP32 -> {
                OneDnnHelpers.require(network);
                yield Dl4jInference.stock(network, features, job.task());
            }
            case AMP_AUTO -> Dl4jInference.auto(network, features, job.task());
            case AMP_FP32 -> Dl4jInference.amp(network, features, job.task(), Precision.FLOAT);
            case AMP_FP32_DIRECT -> Dl4jInference.direct(network, features, job.task(), Precision.FLOAT);
            case AMP_BF16_DIRECT -> Dl4jInference.direct(network, features, job.task(), Precision.BFLOAT16);
            case AMP_BF16 -> Dl4jInference.amp(network, features, job.task(), Precision.BFLOAT16);
            default -> throw hasItsOwn(side);
        };
    }

    private static IllegalArgumentException hasItsOwn(Side side) {
        return new IllegalArgumentException("side " + side.key() + " has a main program of its own");
    }

    private static BenchmarkCase benchmark(SideJob job) {
        return BenchmarkCases.named(job.caseName()).ofBatch(job.minibatch());
    }

    private static void requireSameParameters(NeuralNetwork network, SideJob job) {
        if (ParameterChecksum.of(network) != job.checksum()) {
            throw new IllegalStateException(
                    "the initial parameters of " + job.caseName() + " aren't those that the other sides were given");
        }
    }

    private static Side able(String key) {
        Side side = Side.named(key);
        if (side.needsBfloat16()) {
            requireBfloat16();
        }
        return side;
    }

    private static void requireBfloat16() {
        try {
            Engines.choose("onednn", Precision.BFLOAT16);
        } catch (AmpException e) {
            throw new UnavailableException(e.getMessage(), e);
        }
    }
}
