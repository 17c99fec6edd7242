package org.dl4jamp.soak;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.AmpModelSerializer;
import org.dl4jamp.InferenceMode;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Pause;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Networks that are enabled, trained, paused, used for inference, saved, restored, closed and dropped at random, for
 * two hours, or as many minutes as {@code amp.soak.minutes} says.
 */
class RandomSoak {
    private static final int SAMPLES = 40;
    private static final int NETWORKS = 6;
    private static final int SIZES = 24;

    private static final Logger LOG = LoggerFactory.getLogger(RandomSoak.class);

    @TempDir
    private Path folder;

    private final long seed = Long.getLong("amp.soak.seed", System.nanoTime());
    private final Random random = new Random(seed);
    private final List<Life> lives = new ArrayList<>();

    /** A network, and the handle while mixed precision is enabled. */
    private static final class Life {
        private final SoakNetwork kind;
        private MultiLayerNetwork network;
        private MixedPrecision amp;

        Life(SoakNetwork kind) {
            this.kind = kind;
            network = kind.network();
        }
    }

    @Test
    void memoryIsFlat() throws IOException {
        ProcessMemory memory = new ProcessMemory();
        long minutes = Long.getLong("amp.soak.minutes", 120);
        LOG.info("{} minutes from seed {}", minutes, seed);
        Duration part = Duration.ofMinutes(minutes).dividedBy(SAMPLES);
        for (int sample = 0; sample < SAMPLES; sample++) {
            Instant end = Instant.now().plus(part);
            int events = 0;
            while (Instant.now().isBefore(end)) {
                event();
                events++;
            }
            // Networks that live differ from sample to sample, so none does.
            lives.clear();
            memory.sample(events + " events");
        }
        memory.assertFlat();
    }

    private void event() throws IOException {
        if (lives.size() < NETWORKS) {
            lives.add(new Life(SoakNetwork.draw(random)));
        }
        int chosen = random.nextInt(lives.size());
        Life life = lives.get(chosen);
        switch (random.nextInt(8)) {
            case 0, 1 -> enable(life);
            case 2, 3 -> train(life);
            case 4 -> infer(life);
            case 5 -> saveAndRestore(life);
            case 6 -> close(life);
            default -> lives.remove(chosen);
        }
    }

    private AmpConfig config() {
        return AmpConfig.builder()
                .engine("onednn")
                .precision(random.nextBoolean() ? Precision.FLOAT : Precision.AUTO)
                .build();
    }

    private void enable(Life life) {
        if (life.amp == null) {
            life.amp = MixedPrecision.enable(life.network, config());
        }
    }

    private void train(Life life) {
        for (int step = random.nextInt(4); step >= 0; step--) {
            life.network.fit(life.kind.batch(random, 1 + random.nextInt(SIZES)));
        }
        if (life.amp != null && random.nextInt(4) == 0) {
            try (Pause pause = life.amp.pause()) {
                life.network.output(life.kind.batch(random, 3).getFeatures());
            }
        }
    }

    /** A network in mixed precision infers in it; another has a mode for it. */
    private void infer(Life life) {
        if (life.amp != null) {
            life.network.output(
                    life.kind.batch(random, 1 + random.nextInt(SIZES)).getFeatures());
            return;
        }
        InferenceMode mode = MixedPrecision.inference(life.network, config());
        life.network.output(life.kind.batch(random, 1 + random.nextInt(SIZES)).getFeatures());
        if (random.nextBoolean()) {
            mode.close();
        } else {
            // Dropped with its network.
            lives.remove(life);
        }
    }

    private void saveAndRestore(Life life) throws IOException {
        Path file = folder.resolve("network.zip");
        AmpModelSerializer.writeModel(life.network, file.toFile(), true);
        close(life);
        life.network = AmpModelSerializer.restoreMultiLayerNetwork(file.toFile());
        life.amp = MixedPrecision.of(life.network).orElse(null);
    }

    private static void close(Life life) {
        if (life.amp != null) {
            life.amp.close();
            life.amp = null;
        }
    }
}
