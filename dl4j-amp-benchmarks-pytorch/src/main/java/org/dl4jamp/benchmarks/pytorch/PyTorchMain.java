package org.dl4jamp.benchmarks.pytorch;

import java.io.IOException;
import java.nio.file.Path;
import org.bytedeco.pytorch.global.torch;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.side.Inference;
import org.dl4jamp.benchmarks.side.SideJob;
import org.dl4jamp.benchmarks.side.Training;

/** The main program of PyTorch's sides. */
public final class PyTorchMain implements SideJob.Factory {
    private static final String FP32 = "pytorch-fp32";
    private static final String BF16 = "pytorch-bf16";
    private static final String BF16_WEIGHTS = "pytorch-bf16-weights";

    private PyTorchMain() {}

    /**
     * Runs one repetition.
     *
     * @param args as {@link SideJob#main} takes them
     */
    public static void main(String[] args) throws IOException {
        SideJob.main(args, new PyTorchMain());
    }

    @Override
    public Training training(String side, Path folder, SideJob job) throws IOException {
        if (!side.equals(FP32) && !side.equals(BF16)) {
            throw unknown(side);
        }
        torch.set_num_threads(job.threads());
        return new PyTorchTraining(Model.read(folder), side.equals(BF16));
    }

    @Override
    public Inference inference(String side, Path folder, SideJob job) throws IOException {
        PyTorchInference.Numbers numbers =
                switch (side) {
                    case FP32 -> PyTorchInference.Numbers.FP32;
                    case BF16 -> PyTorchInference.Numbers.AUTOCAST;
                    case BF16_WEIGHTS -> PyTorchInference.Numbers.BFLOAT16_WEIGHTS;
                    default -> throw unknown(side);
                };
        torch.set_num_threads(job.threads());
        return new PyTorchInference(Model.read(folder), numbers, job.task());
    }

    private static IllegalArgumentException unknown(String side) {
        return new IllegalArgumentException("side " + side + " isn't one of PyTorch's");
    }
}
