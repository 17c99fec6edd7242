package org.dl4jamp.randomized;

import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.dl4jamp.AmpModelSerializer;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Pause;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.GradientPenalty;
import org.dl4jamp.config.PartialGroup;
import org.dl4jamp.listeners.AmpListener;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Mixed precision, which computes in FP32, on an engine. */
final class AmpPlayer extends Player {
    private final AmpConfig config;
    private MixedPrecision amp;
    private InferenceMode inference;

    AmpPlayer(Scenario scenario, NetworkDescription description, String engine) {
        this(scenario, description, settings(scenario, engine));
    }

    private AmpPlayer(Scenario scenario, NetworkDescription description, AmpConfig config) {
        super(scenario, description, network(scenario, description, config), 0);
        this.config = config;
    }

    private static Net network(Scenario scenario, NetworkDescription description, AmpConfig config) {
        NetworkDescription made = scenario.has(Option.CARRIED) ? description.carrying(config) : description;
        return made.network(scenario.seed());
    }

    static AmpConfig settings(Scenario scenario, String engine) {
        AmpConfig.Builder builder =
                AmpConfig.builder().precision(Precision.FLOAT).engine(engine);
        if (scenario.microBatches() > 1) {
            builder.accumulate(
                    scenario.microBatches(), scenario.carriesOver() ? PartialGroup.CARRY_OVER : PartialGroup.APPLY);
        }
        if (scenario.has(Option.PENALTY)) {
            builder.gradientPenalty(GradientPenalty.of(scenario.penalty(), scenario.penaltyRadius()));
        }
        if (scenario.has(Option.CLIP_NORM)) {
            builder.clipGradientNorm(scenario.clipNorm());
        }
        if (scenario.has(Option.CLIP_VALUE)) {
            builder.clipGradientValue(scenario.clipValue());
        }
        // In FP32 there is nothing to heal.
        return builder.selfHealing(scenario.seed() % 2 == 0).build();
    }

    @Override
    void begin() {
        enable();
    }

    private void enable() {
        boolean carried = scenario().has(Option.CARRIED);
        if (scenario().has(Option.LISTENER)) {
            AmpListener listener = carried ? new AmpListener() : new AmpListener(config);
            net().listen(listener);
            beginWithAnEpoch();
            amp = listener.mixedPrecision().orElseThrow();
        } else {
            amp = carried ? MixedPrecision.enable(net().model()) : MixedPrecision.enable(net().model(), config);
        }
    }

    @Override
    void fit(Batch batch, boolean failing, int variant) {
        net().fit(batch, variant);
    }

    @Override
    void fit(List<Batch> batches, List<Boolean> failing, int epochs) {
        net().fit(batches, epochs);
    }

    @Override
    void applyPartialGroup() {
        // In inference mode there is none: it was dropped when mixed precision was closed.
        if (inference == null) {
            amp.applyPartialGroup();
        }
    }

    @Override
    void closeAndEnable() {
        amp.close();
        enable();
    }

    @Override
    void continueWithClone() {
        Net copy = net().copy();
        amp.close();
        setNet(copy);
        enable();
    }

    @Override
    void paused(Runnable calls) {
        Pause pause = amp.pause();
        calls.run();
        pause.close();
    }

    @Override
    void inferring(Runnable calls) {
        amp.close();
        inference = MixedPrecision.inference(net().model(), config.forInference());
        calls.run();
        inference.close();
        inference = null;
        enable();
    }

    @Override
    Map<String, INDArray> output(Batch batch) {
        Map<String, INDArray> own = super.output(batch);
        if (inference == null || own.size() > 1 || batch.features().length > 1) {
            return own;
        }
        INDArray direct = inference.output(batch.copy().features()[0]);
        return own.keySet().stream().collect(Collectors.toMap(name -> name, name -> direct));
    }

    @Override
    void refresh() {
        if (inference != null) {
            inference.refresh();
        }
    }

    @Override
    void restoreExactly(File file) throws IOException {
        AmpModelSerializer.writeModel(net().model(), file, true);
        Net restored = net().restoredInMixedPrecision(file);
        amp.close();
        setNet(restored);
        amp = MixedPrecision.of(restored.model()).orElseThrow();
    }

    @Override
    void restorePlainly(File file) throws IOException {
        net().save(file);
        amp.close();
        setNet(net().restored(file));
        enable();
    }

    @Override
    public void close() {
        if (inference != null) {
            inference.close();
        }
        if (amp != null) {
            amp.close();
        }
    }
}
