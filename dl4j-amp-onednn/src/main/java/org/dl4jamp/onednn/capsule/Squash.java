package org.dl4jamp.onednn.capsule;

/**
 * The function that makes vectors shorter than 1 and keeps their directions: {@code v |v|² / ((|v|² + 1) √(|v|² +
 * 1e-5))}, as in DL4J.
 *
 * @param dimensions how many numbers a vector has; vectors follow each other
 */
record Squash(int dimensions) {
    /** The summand of a squared length before its root. */
    private static final double EPSILON = 1e-5;

    private double product(double[] one, double[] other, int begin) {
        double product = 0;
        for (int i = begin; i < begin + dimensions; i++) {
            product += one[i] * other[i];
        }
        return product;
    }

    double[] of(double... vectors) {
        double[] squashed = new double[vectors.length];
        for (int begin = 0; begin < vectors.length; begin += dimensions) {
            double square = product(vectors, vectors, begin);
            double factor = square / ((square + 1) * Math.sqrt(square + EPSILON));
            for (int i = begin; i < begin + dimensions; i++) {
                squashed[i] = vectors[i] * factor;
            }
        }
        return squashed;
    }

    /**
     * Returns the gradient of vectors.
     *
     * @param above that of their results
     */
    double[] gradient(double[] vectors, double[] above) {
        double[] gradient = new double[vectors.length];
        for (int begin = 0; begin < vectors.length; begin += dimensions) {
            double square = product(vectors, vectors, begin);
            double scale = 1 / ((square + 1) * Math.sqrt(square + EPSILON));
            double slope = scale * (1 - square / (square + 1) - square / (2 * (square + EPSILON)));
            double along = 2 * slope * product(vectors, above, begin);
            for (int i = begin; i < begin + dimensions; i++) {
                gradient[i] = square * scale * above[i] + along * vectors[i];
            }
        }
        return gradient;
    }
}
