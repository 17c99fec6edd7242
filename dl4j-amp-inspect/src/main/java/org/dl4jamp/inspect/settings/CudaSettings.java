package org.dl4jamp.inspect.settings;

import static org.dl4jamp.inspect.settings.Setting.Kind.ENVIRONMENT;

import java.util.ArrayList;
import java.util.List;

/** Environment variables of CUDA. */
final class CudaSettings {
    private static final String DEVICES = "CUDA_VISIBLE_DEVICES";

    private CudaSettings() {}

    static List<Setting> of(Surroundings here) {
        List<Setting> found = new ArrayList<>();
        if (here.hasGpu()) {
            devices(here, found);
            ifOne(here, "CUDA_LAUNCH_BLOCKING", "Java waits for each kernel of the GPU, which is slow.", found);
            ifOne(here, "CUDA_CACHE_DISABLE", "The driver compiles PTX again at each start.", found);
            ifOne(here, "CUDA_FORCE_PTX_JIT", "The driver compiles PTX even where there is machine code.", found);
            ifOne(here, "CUDA_DISABLE_PTX_JIT", "The driver compiles no PTX, which new GPUs need.", found);
        }
        return found;
    }

    private static void devices(Surroundings here, List<Setting> found) {
        // Unlike other variables it has a meaning when it's empty.
        String value = here.environment().get(DEVICES);
        if (value == null) {
            return;
        }
        boolean none = value.isBlank() || value.strip().startsWith("-");
        found.add(
                none
                        ? Setting.harmful(
                                ENVIRONMENT, DEVICES, value, "It hides all GPUs from this process.", "Unset it.")
                        : Setting.fine(ENVIRONMENT, DEVICES, value, "This process sees these GPUs only."));
    }

    private static void ifOne(Surroundings here, String name, String effect, List<Setting> found) {
        here.variable(name)
                .filter(value -> !value.equals("0"))
                .ifPresent(value -> found.add(Setting.harmful(ENVIRONMENT, name, value, effect, "Unset it.")));
    }
}
