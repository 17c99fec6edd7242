package org.dl4jamp.randomized;

import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Clips the gradients of stock DL4J: by their norm over the network, as Pascanu, Mikolov and Bengio (2013) do, and then
 * one by one. Its gradients are sums over a minibatch where DL4J divides later.
 */
final class GradientClipping extends BaseTrainingListener {
    private final Scenario scenario;

    GradientClipping(Scenario scenario) {
        this.scenario = scenario;
    }

    @Override
    public void onGradientCalculation(Model model) {
        Map<String, INDArray> gradients = model.gradient().gradientForVariable();
        double examples = scenario.has(Option.NO_MINIBATCH) ? 1 : model.batchSize();
        if (scenario.has(Option.CLIP_NORM)) {
            double squares = 0;
            for (Map.Entry<String, INDArray> each : gradients.entrySet()) {
                if (isGradient(each.getKey())) {
                    squares += Math.pow(each.getValue().norm2Number().doubleValue() / examples, 2);
                }
            }
            double factor = Math.min(1, scenario.clipNorm() / Math.sqrt(squares));
            gradients.forEach((name, gradient) -> {
                if (isGradient(name)) {
                    gradient.muli(factor);
                }
            });
        }
        if (scenario.has(Option.CLIP_VALUE)) {
            double limit = scenario.clipValue() * examples;
            gradients.forEach((name, gradient) -> {
                if (isGradient(name)) {
                    limit(gradient, limit);
                }
            });
        }
    }

    private static void limit(INDArray gradient, double limit) {
        for (long i = 0; i < gradient.length(); i++) {
            gradient.putScalar(i, Math.max(-limit, Math.min(limit, gradient.getDouble(i))));
        }
    }

    /** Returns false for running statistics and class centers, which DL4J keeps among the gradients. */
    private static boolean isGradient(String name) {
        return !name.endsWith("_mean")
                && !name.endsWith("_var")
                && !name.endsWith("_log10stdev")
                && !name.endsWith("_cL");
    }
}
