package org.dl4jamp.randomized;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.RandomGenerator;
import net.jqwik.api.Shrinkable;
import org.dl4jamp.inference.Repetition;
import org.dl4jamp.randomized.DifferentialCheck.Outcome;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Many scenarios, one after another.
 *
 * <p>In a build the scenarios are always the same, as many of the first as fit into the time.
 * {@code -Damp.random.minutes=60} runs new ones for an hour, with {@code -Damp.random.first=...} from that seed on, and
 * {@code -Damp.random.seed=...} the one of a failure's message. These two play some scenarios once more, with a network
 * that begins with layers which inference computes at once: engines repeat its passes.
 */
final class RandomizedRun {
    private static final Logger LOG = LoggerFactory.getLogger(RandomizedRun.class);

    private static final int GENERATOR_SIZE = 1000;
    private static final int MOST_FAILURES = Integer.getInteger("amp.random.failures", 5);

    private final RandomGenerator<Scenario> scenarios =
            ScenarioGenerator.scenarios().generator(GENERATOR_SIZE);
    private final Playing playing;
    private final List<String> engines;
    private final long count;
    private final int seconds;

    private int played;
    private int compared;
    private int stockFailures;
    private int illConditioned;
    private final List<String> failures = new ArrayList<>();

    /**
     * Prepares a run.
     *
     * @param count how many scenarios a build plays at most: more would be others on a faster machine
     * @param seconds for how long a build plays at most
     */
    RandomizedRun(Playing playing, List<String> engines, long count, int seconds) {
        this.playing = playing;
        this.engines = engines;
        this.count = Long.getLong("amp.random.scenarios", count);
        this.seconds = Integer.getInteger("amp.random.seconds", seconds);
    }

    /** Plays the scenarios, and fails if mixed precision differs from stock DL4J in one. */
    void assertNoDifference() {
        Long single = Long.getLong("amp.random.seed");
        long repeatedBefore = Repetition.repeated();
        try (QuietLogs quiet = new QuietLogs()) {
            playAll(single);
        }
        LOG.info(
                "{} scenarios, {} observations, stock DL4J failed in {}, {} differences were no larger than rounding"
                        + " makes, {} passes were repeated as lists",
                played,
                compared,
                stockFailures,
                illConditioned,
                Repetition.repeated() - repeatedBefore);
        assertTrue(failures.isEmpty(), () -> failures.size() + " fail:\n" + String.join("\n", failures));
        assertTrue(compared > 0 || single != null, "nothing was compared");
    }

    private void playAll(Long single) {
        Integer minutes = Integer.getInteger("amp.random.minutes");
        if (single != null) {
            play(single);
        } else if (minutes != null) {
            play(Long.getLong("amp.random.first", System.nanoTime()), Long.MAX_VALUE, Duration.ofMinutes(minutes));
        } else {
            play(1, count, Duration.ofSeconds(seconds));
        }
    }

    private void play(long first, long number, Duration budget) {
        long end = System.nanoTime() + budget.toNanos();
        LOG.info("-Damp.random.seed={} and those after it", first);
        for (long i = 0; i < number && System.nanoTime() < end && failures.size() < MOST_FAILURES; i++) {
            play(first + i);
        }
    }

    /**
     * Leaves the seed in a file: a crash of the JVM in native code ends the run as a failure without any other trace.
     */
    private static void remember(long seed) {
        LOG.debug("-Damp.random.seed={}", seed);
        try {
            Path folder = Files.createDirectories(Path.of("target"));
            Files.writeString(folder.resolve("randomized.seed"), "-Damp.random.seed=" + seed);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns whether the scenarios are those of each build, whose time is short. */
    private static boolean isOfBuild() {
        return Long.getLong("amp.random.seed") == null && Integer.getInteger("amp.random.minutes") == null;
    }

    private void play(long seed) {
        remember(seed);
        Shrinkable<Scenario> drawn = scenarios.next(new Random(seed * 0x9E3779B97F4A7C15L));
        play(seed, drawn);
        if (!isOfBuild() && drawn.value().mayRepeatPasses()) {
            play(seed, drawn.map(ScenarioGenerator::beginningWithAGroup));
        }
    }

    private void play(long seed, Shrinkable<Scenario> drawn) {
        Outcome outcome = DifferentialCheck.of(drawn.value(), playing, engines);
        played++;
        compared += outcome.compared();
        stockFailures += outcome.stockFails() ? 1 : 0;
        illConditioned += outcome.illConditioned();
        outcome.found().ifPresent(found -> {
            Failure failure = new Failure(seed, drawn, playing, found).shrunk();
            LOG.warn("{}", failure);
            failures.add(failure.toString());
        });
    }
}
