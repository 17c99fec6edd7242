package org.dl4jamp.examples.digits;

/**
 * The output of {@code amp digits --json}.
 *
 * @param cnn the convolutional network
 * @param residual the residual graph
 */
record DigitsFigures(Network cnn, Network residual) {
    /** A network in FP32 and in mixed precision. */
    record Network(Fp32 fp32, Amp amp) {}

    /**
     * In FP32.
     *
     * @param accuracy part of the test images that were recognized, from 0 to 1
     * @param seconds time of the training
     */
    record Fp32(double accuracy, double seconds) {}

    /** In mixed precision; accuracy and seconds as in FP32. */
    record Amp(double accuracy, double seconds, String precision, String engine, long stepsSkipped, double lossScale) {}
}
