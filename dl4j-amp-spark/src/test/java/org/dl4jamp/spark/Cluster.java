package org.dl4jamp.spark;

import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/** Spark in this JVM: a driver with as many cores as asked for, on loopback, without a web page. */
final class Cluster {
    static final int CORES = 2;

    private Cluster() {}

    static JavaSparkContext start() {
        return start(Map.of());
    }

    /**
     * Starts it; there may be one at a time.
     *
     * @param settings more of Spark's
     */
    static JavaSparkContext start(Map<String, String> settings) {
        // A task may fail and be run again, as on a cluster.
        SparkConf conf = new SparkConf()
                .setMaster("local[" + CORES + ",4]")
                .setAppName("dl4j-amp tests")
                .set("spark.ui.enabled", "false")
                .set("spark.driver.host", "127.0.0.1")
                .set("spark.driver.bindAddress", "127.0.0.1")
                .set("spark.stage.maxConsecutiveAttempts", "4");
        settings.forEach(conf::set);
        return new JavaSparkContext(conf);
    }
}
