package org.dl4jamp.randomized;

import java.util.LinkedHashMap;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.NeuralNetwork;
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
        if (!isSupervised(model)) {
            return;
        }
        Map<String, INDArray> gradients = gradients(model);
        double examples = scenario.has(Option.NO_MINIBATCH) ? 1 : model.batchSize();
        if (scenario.has(Option.CLIP_NORM)) {
            double factor = Math.min(1, scenario.clipNorm() / norm(gradients, examples));
            gradients.values().forEach(gradient -> gradient.muli(factor));
        }
        if (scenario.has(Option.CLIP_VALUE)) {
            double limit = scenario.clipValue() * examples;
            gradients.values().forEach(gradient -> limit(gradient, limit));
        }
    }

    /** Returns false for pretraining, in which the model is a layer, and mixed precision changes no gradients. */
    static boolean isSupervised(Model model) {
        return model instanceof NeuralNetwork;
    }

    /** Returns the gradients of parameters: DL4J lists updates, and some of a locked gamma and beta, too. */
    static Map<String, INDArray> gradients(Model model) {
        Map<String, INDArray> gradients = new LinkedHashMap<>(model.gradient().gradientForVariable());
        gradients.keySet().retainAll(model.paramTable().keySet());
        gradients.keySet().removeIf(name -> !isGradient(name));
        return gradients;
    }

    /** Returns the norm of all gradients together, of means over examples. */
    static double norm(Map<String, INDArray> gradients, double examples) {
        double squares = 0;
        for (INDArray gradient : gradients.values()) {
            squares += Math.pow(gradient.norm2Number().doubleValue() / examples, 2);
        }
        return Math.sqrt(squares);
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
