package org.dl4jamp.randomized;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.LoggerFactory;

/** Keeps out of the log what each of thousands of networks would write. */
final class QuietLogs implements AutoCloseable {
    private static final List<String> NAMES = List.of(
            "org.dl4jamp.MixedPrecision",
            "org.dl4jamp.InferenceMode",
            "org.dl4jamp.step",
            "org.dl4jamp.randomized.DifferentialCheck",
            "org.deeplearning4j",
            "org.nd4j");

    private final Map<Logger, Level> before = new HashMap<>();

    QuietLogs() {
        for (String name : NAMES) {
            Logger logger = (Logger) LoggerFactory.getLogger(name);
            before.put(logger, logger.getLevel());
            logger.setLevel(Level.OFF);
        }
    }

    @Override
    public void close() {
        before.forEach(Logger::setLevel);
    }
}
