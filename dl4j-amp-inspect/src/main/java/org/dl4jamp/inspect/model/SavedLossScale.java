package org.dl4jamp.inspect.model;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.checkpoint.ModelZip;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.LossScalerState;

/** The loss scale that a network had when it was saved with mixed precision. */
public final class SavedLossScale {
    private SavedLossScale() {}

    /**
     * Returns settings whose loss scale begins where that of a saved model was. The settings themselves if the model
     * was saved without a dynamic loss scale, or they have a scaler of their own.
     *
     * @param settings those that were saved with the model
     * @param file the zip of {@code AmpModelSerializer} or of DL4J
     * @throws AmpException if the file can't be read
     */
    public static AmpConfig in(AmpConfig settings, Path file) {
        Optional<LossScalerState> state;
        try {
            state = ModelZip.state(file, file.toString()).map(AmpState::scaler);
        } catch (IOException e) {
            throw new AmpException(file + ": can't be read (" + e + ")", e);
        }
        return state.filter(scaler -> scaler.kind().equals(DynamicLossScaler.KIND)
                        && settings.lossScaler().isEmpty())
                .map(scaler -> settings.toBuilder()
                        .lossScaler(DynamicLossScaler.builder()
                                .initialScale(scaler.scale())
                                .build())
                        .build())
                .orElse(settings);
    }
}
