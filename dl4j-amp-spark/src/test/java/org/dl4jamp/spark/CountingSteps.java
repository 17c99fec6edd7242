package org.dl4jamp.spark;

import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.util.LongAccumulator;
import org.deeplearning4j.nn.api.Model;

/** Counts minibatches without dl4j-amp. */
final class CountingSteps implements AfterEachStep {
    private static final long serialVersionUID = 1L;
    private final LongAccumulator steps;

    CountingSteps(JavaSparkContext context) {
        steps = context.sc().longAccumulator();
    }

    long steps() {
        return steps.sum();
    }

    @Override
    public void stepDone(Model model) {
        steps.add(1);
    }
}
