package org.dl4jamp.spark;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.ExceptionFailure;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Says on the driver which jar executors lack. Where they lack this library none of its code is there to say so: the
 * task's error is the bare name of a class.
 */
final class MissingClasses extends SparkListener {
    private static final Logger LOG = LoggerFactory.getLogger(SparkAmp.class);

    private static final Pattern MISSING =
            Pattern.compile("(?:ClassNotFoundException|NoClassDefFoundError): (org[./]dl4jamp[./][\\w./$]+)");

    private boolean said;

    @Override
    public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
        if (!said && end.reason() instanceof ExceptionFailure failure) {
            advice(failure.toErrorString(), end.taskInfo().host()).ifPresent(advice -> {
                said = true;
                LOG.error(advice);
            });
        }
    }

    /** Returns what to do about a task's error, empty if no class of dl4j-amp is missing. */
    static Optional<String> advice(String error, String host) {
        Matcher missing = MISSING.matcher(error);
        if (!missing.find()) {
            return Optional.empty();
        }
        String name = missing.group(1).replace('/', '.');
        return Optional.of("Executors on " + host + " lack " + artifact(name) + ": a task can't load " + name
                + ". Give them the jars that the driver has: with spark-submit --jars or --packages, in the program's"
                + " own jar, or by"
                + " spark.executor.extraClassPath where they are installed");
    }

    private static String artifact(String className) {
        for (String module : new String[] {"scale", "spark", "listeners", "onednn"}) {
            if (className.startsWith("org.dl4jamp." + module + ".")) {
                return "org.dl4jamp:dl4j-amp-" + module;
            }
        }
        return className.startsWith("org.dl4jamp.precision.")
                ? "org.dl4jamp:dl4j-amp-scale"
                : "org.dl4jamp:dl4j-amp-core";
    }
}
