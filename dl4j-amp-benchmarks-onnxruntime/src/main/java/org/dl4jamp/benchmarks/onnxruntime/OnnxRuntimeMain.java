package org.dl4jamp.benchmarks.onnxruntime;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.side.Inference;
import org.dl4jamp.benchmarks.side.Records;
import org.dl4jamp.benchmarks.side.SideJob;
import org.dl4jamp.benchmarks.side.Training;

/** The main program of ONNX Runtime's side. */
public final class OnnxRuntimeMain implements SideJob.Factory {
    private OnnxRuntimeMain() {}

    /**
     * Runs one repetition.
     *
     * @param args as {@link SideJob#main} takes them
     */
    public static void main(String[] args) throws IOException {
        SideJob.main(args, new OnnxRuntimeMain());
    }

    @Override
    public Training training(String side, Path folder, SideJob job) {
        throw new IllegalArgumentException("side " + side + " doesn't train");
    }

    @Override
    public Inference inference(String side, Path folder, SideJob job) throws IOException {
        return new OnnxRuntimeInference(
                Model.read(folder),
                job.task(),
                job.threads(),
                job.records() == Records.KERNELS ? Optional.of(folder.resolve("onnxruntime")) : Optional.empty());
    }
}
