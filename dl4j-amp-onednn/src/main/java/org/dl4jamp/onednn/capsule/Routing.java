package org.dl4jamp.onednn.capsule;

/**
 * The routing of one example by agreement (Sabour et al., 2017, Dynamic Routing Between Capsules), and its gradient
 * through all iterations, as SameDiff computes it.
 *
 * <p>Predictions are {@code [inputs, capsules, dimensions]}, and sums and results {@code [capsules, dimensions]}.
 */
final class Routing {
    /** The summand of a squared length before its root, as in DL4J. */
    private static final double EPSILON = 1e-5;

    private final int inputs;
    private final int capsules;
    private final int dimensions;
    private final int iterations;
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
            result = squashed(sums[iteration]);
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

    private double product(double[] one, double[] other, int capsule) {
        double product = 0;
        for (int i = capsule * dimensions; i < (capsule + 1) * dimensions; i++) {
            product += one[i] * other[i];
        }
        return product;
    }

    /** Returns vectors of the same directions that are shorter than 1. */
    private double[] squashed(double... vectors) {
        double[] squashed = new double[vectors.length];
        for (int capsule = 0; capsule < capsules; capsule++) {
            double square = product(vectors, vectors, capsule);
            double factor = square / ((square + 1) * Math.sqrt(square + EPSILON));
            for (int i = capsule * dimensions; i < (capsule + 1) * dimensions; i++) {
                squashed[i] = vectors[i] * factor;
            }
        }
        return squashed;
    }

    private double[] squashGradient(double[] vectors, double[] above) {
        double[] gradient = new double[vectors.length];
        for (int capsule = 0; capsule < capsules; capsule++) {
            double square = product(vectors, vectors, capsule);
            double scale = 1 / ((square + 1) * Math.sqrt(square + EPSILON));
            double slope = scale * (1 - square / (square + 1) - square / (2 * (square + EPSILON)));
            double along = 2 * slope * product(vectors, above, capsule);
            for (int i = capsule * dimensions; i < (capsule + 1) * dimensions; i++) {
                gradient[i] = square * scale * above[i] + along * vectors[i];
            }
        }
        return gradient;
    }

    /**
     * Computes the gradients after {@link #forward}.
     *
     * @param above that of the result
     * @param biasGradient takes that of the bias
     * @return that of the predictions
     */
    float[] backward(double[] above, double[] biasGradient) {
        double[] next = new double[predictions.length];
        double[] ofLogits = new double[inputs * capsules];
        double[] ofResult = above;
        for (int iteration = iterations - 1; iteration >= 0; iteration--) {
            double[] ofSums = squashGradient(sums[iteration], ofResult);
            for (int i = 0; i < ofSums.length; i++) {
                biasGradient[i] += ofSums[i];
            }
            addGradientOfSums(iteration, ofSums, next, ofLogits);
            if (iteration > 0) {
                ofResult = gradientOfAgreement(squashed(sums[iteration - 1]), ofLogits, next);
            }
        }
        float[] rounded = new float[next.length];
        for (int i = 0; i < next.length; i++) {
            rounded[i] = (float) next[i];
        }
        return rounded;
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
