package org.dl4jamp.benchmarks.pytorch;

import java.util.function.Supplier;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** The equivalent of {@code with torch.autocast("cpu", dtype=torch.bfloat16)}. */
final class Autocast {
    private Autocast() {}

    /** Computes under it. */
    static Tensor of(Supplier<Tensor> computation) {
        torch.set_autocast_dtype(DeviceType.CPU, ScalarType.BFloat16);
        torch.set_autocast_enabled(DeviceType.CPU, true);
        try {
            return computation.get();
        } finally {
            torch.set_autocast_enabled(DeviceType.CPU, false);
            torch.clear_cache();
        }
    }
}
