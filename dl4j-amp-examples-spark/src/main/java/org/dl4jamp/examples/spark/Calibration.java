package org.dl4jamp.examples.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.examples.digits.Digits;
import org.dl4jamp.examples.digits.DigitsNetworks;
import org.nd4j.linalg.dataset.DataSet;

/** Measures the parameters of a cluster's cost model on the cluster, without training on it. */
final class Calibration {
    private static final int SPLITS = 5;
    private static final int WARM_UP_STEPS = 20;
    private static final int STEPS = 30;

    private final JavaSparkContext context;
    private final int workers;

    Calibration(JavaSparkContext context, int workers) {
        this.context = context;
        this.workers = workers;
    }

    /**
     * Returns the time of a split that computes nothing: DL4J's jobs of one, which count, shuffle, send the state to
     * all executors and add up what comes back.
     *
     * @param stateBytes bytes of the state
     * @param objects number of shuffled objects
     */
    double splitSeconds(long stateBytes, int objects) {
        float[] state = new float[Math.toIntExact(stateBytes / Float.BYTES)];
        Random random = new Random(1);
        for (int i = 0; i < state.length; i++) {
            state[i] = random.nextFloat();
        }
        JavaRDD<Integer> data = context.parallelize(Collections.nCopies(objects, 1), workers);
        double[] seconds = new double[SPLITS];
        for (int split = -1; split < SPLITS; split++) {
            long start = System.nanoTime();
            Broadcast<float[]> broadcast = context.broadcast(state);
            data.mapPartitionsWithIndex((index, part) -> List.of(index).iterator(), true)
                    .collect();
            data.repartition(workers)
                    .mapPartitions(part -> List.of(broadcast.value().clone()).iterator())
                    .treeAggregate(null, Calibration::sum, Calibration::sum);
            if (split >= 0) {
                seconds[split] = (System.nanoTime() - start) / 1e9;
            }
            broadcast.unpersist();
        }
        return median(seconds);
    }

    private static float[] sum(float[] one, float[] other) {
        if (one == null || other == null) {
            return one == null ? other : one;
        }
        for (int i = 0; i < one.length; i++) {
            one[i] += other[i];
        }
        return one;
    }

    /**
     * Returns the time of a training step while all workers train, each a network of its own.
     *
     * @param config settings, or null for FP32 in DL4J
     */
    double stepSeconds(AmpConfig config) {
        List<Integer> all = new ArrayList<>();
        for (int worker = 0; worker < workers; worker++) {
            all.add(worker);
        }
        return context.parallelize(all, workers).map(worker -> stepSecondsHere(config)).collect().stream()
                .mapToDouble(seconds -> seconds)
                .average()
                .orElseThrow();
    }

    private static double stepSecondsHere(AmpConfig config) {
        DataSet batch = Digits.load().range(0, DigitsOnSpark.BATCH).toDataSet();
        ComputationGraph graph = new ComputationGraph(DigitsNetworks.residual());
        graph.init();
        try {
            if (config != null) {
                MixedPrecision.enable(graph, config);
            }
            double[] seconds = new double[STEPS];
            for (int step = -WARM_UP_STEPS; step < STEPS; step++) {
                long start = System.nanoTime();
                graph.fit(batch);
                if (step >= 0) {
                    seconds[step] = (System.nanoTime() - start) / 1e9;
                }
            }
            return median(seconds);
        } finally {
            MixedPrecision.of(graph).ifPresent(MixedPrecision::close);
            graph.close();
        }
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
