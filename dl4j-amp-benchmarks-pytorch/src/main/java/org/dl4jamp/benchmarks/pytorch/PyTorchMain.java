package org.dl4jamp.benchmarks.pytorch;

import java.io.IOException;
import java.nio.file.Path;
import org.bytedeco.pytorch.global.torch;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.side.SideJob;
import org.dl4jamp.benchmarks.side.Training;

/** The main program of PyTorch's sides. */
public final class PyTorchMain {
    private static final String FP32 = "pytorch-fp32";
    private static final String BF16 = "pytorch-bf16";

    private PyTorchMain() {}

    /**
     * Runs one repetition.
     *
     * @param args as {@link SideJob#main} takes them
     */
    public static void main(String[] args) throws IOException {
        SideJob.main(args, PyTorchMain::training);
    }

    private static Training training(String side, Path folder, SideJob job) throws IOException {
        if (!side.equals(FP32) && !side.equals(BF16)) {
            throw new IllegalArgumentException("side " + side + " isn't one of PyTorch's");
        }
        torch.set_num_threads(job.threads());
        return new PyTorchTraining(Model.read(folder), side.equals(BF16));
    }
}
