package org.dl4jamp.onednn.capsule;

/**
 * The routing of one example by agreement (Sabour et al., 2017, Dynamic Routing Between Capsules), and its gradient
 * through all iterations, as SameDiff computes it.
 *
 * <p>Predictions are {@code [inputs, capsules, dimensions]}, and sums and results {@code [capsules, dimensions]}.
 */
final class Routing {
    private final int inputs;
    private final int capsules;
    private final int dimensions;
    private final int iterations;
    private final Squash squash;
    private final float[] predictions;
    private final double[] bias;
    private final double[][] couplings;
    private final double[][] sums;

    /** @param bias {@code [capsules, dimensions]} */
    Routing(float[] predictions, int inputs, int capsules, int dimensions, int iterations, double... bias) {
        this.predictions = predictions;
        this.inputs = inputs;
        this.capsules = capsules;
        this.dimensions = dimensions;
        this.iterations = iterations;
        this.squash = new Squash(dimensions);
        this.bias = bias;
        this.couplings = new double[iterations][];
        this.sums = new double[iterations][];
    }

    /** Routes, and returns the result. */
    double[] forward() {
        double[] logits = new double[inputs * capsules];
        double[] result = bias;
        for (int iteration = 0; iteration < iterations; iteration++) {
            if (iteration > 0) {
                addAgreement(result, logits);
            }
            couplings[iteration] = softmax(logits);
            sums[iteration] = weightedSums(couplings[iteration]);
            result = squash.of(sums[iteration]);
        }
        return result;
    }

    private void addAgreement(double[] result, double[] logits) {
        for (int link = 0; link < logits.length; link++) {
            int capsule = link % capsules;
            for (int i = 0; i < dimensions; i++) {
                logits[link] += predictions[link * dimensions + i] * result[capsule * dimensions + i];
            }
        }
    }

    private double[] softmax(double... logits) {
        double[] softmax = new double[logits.length];
        for (int input = 0; input < inputs; input++) {
            int begin = input * capsules;
            double most = Double.NEGATIVE_INFINITY;
            for (int link = begin; link < begin + capsules; link++) {
                most = Math.max(most, logits[link]);
            }
            double sum = 0;
            for (int link = begin; link < begin + capsules; link++) {
                softmax[link] = Math.exp(logits[link] - most);
                sum += softmax[link];
            }
            for (int link = begin; link < begin + capsules; link++) {
                softmax[link] /= sum;
            }
        }
        return softmax;
    }

    private double[] weightedSums(double... weights) {
        double[] result = bias.clone();
        for (int link = 0; link < weights.length; link++) {
            int capsule = link % capsules;
            for (int i = 0; i < dimensions; i++) {
                result[capsule * dimensions + i] += weights[link] * predictions[link * dimensions + i];
            }
        }
        return result;
    }

    /**
     * Computes the gradients after {@link #forward}.
     *
     * @param above that of the result
     * @param biasGradient takes that of the bias
     * @return that of the predictions
     */
    double[] backward(double[] above, double[] biasGradient) {
        double[] next = new double[predictions.length];
        double[] ofLogits = new double[inputs * capsules];
        double[] ofResult = above;
        for (int iteration = iterations - 1; iteration >= 0; iteration--) {
            double[] ofSums = squash.gradient(sums[iteration], ofResult);
            for (int i = 0; i < ofSums.length; i++) {
                biasGradient[i] += ofSums[i];
            }
            addGradientOfSums(iteration, ofSums, next, ofLogits);
            if (iteration > 0) {
                ofResult = gradientOfAgreement(squash.of(sums[iteration - 1]), ofLogits, next);
            }
        }
        return next;
    }

    private void addGradientOfSums(int iteration, double[] ofSums, double[] next, double[] ofLogits) {
        double[] weights = couplings[iteration];
        double[] ofWeights = new double[weights.length];
        for (int link = 0; link < weights.length; link++) {
            int capsule = link % capsules;
            for (int i = 0; i < dimensions; i++) {
                double above = ofSums[capsule * dimensions + i];
                ofWeights[link] += above * predictions[link * dimensions + i];
                next[link * dimensions + i] += above * weights[link];
            }
        }
        for (int input = 0; input < inputs; input++) {
            int begin = input * capsules;
            double mean = 0;
            for (int link = begin; link < begin + capsules; link++) {
                mean += weights[link] * ofWeights[link];
            }
            for (int link = begin; link < begin + capsules; link++) {
                ofLogits[link] += weights[link] * (ofWeights[link] - mean);
            }
        }
    }

    /** Adds to the predictions' gradient, and returns that of the result they were compared with. */
    private double[] gradientOfAgreement(double[] result, double[] ofLogits, double[] next) {
        double[] ofResult = new double[result.length];
        for (int link = 0; link < ofLogits.length; link++) {
            int capsule = link % capsules;
            for (int i = 0; i < dimensions; i++) {
                next[link * dimensions + i] += ofLogits[link] * result[capsule * dimensions + i];
                ofResult[capsule * dimensions + i] += ofLogits[link] * predictions[link * dimensions + i];
            }
        }
        return ofResult;
    }
}
