package org.dl4jamp.examples.sine;

import org.dl4jamp.MixedPrecision;
import org.dl4jamp.examples.measure.MeasuredTraining;

/**
 * The output of {@code amp sine --json}.
 *
 * @param fp32 the training in FP32
 * @param amp the training in mixed precision
 * @param speedup FP32's time per iteration divided by mixed precision's
 * @param memorySaving the part of FP32's peak memory that mixed precision saves
 */
record SineFigures(Fp32 fp32, Amp amp, double speedup, double memorySaving) {
    /** Figures of the training in FP32. */
    record Fp32(double seconds, double secondsPerIteration, double loss, long peakBytes) {
        static Fp32 of(MeasuredTraining training) {
            return new Fp32(training.seconds(), training.secondsPerIteration(), training.loss(), training.peakBytes());
        }
    }

    /** Figures of the training in mixed precision. */
    record Amp(
            double seconds,
            double secondsPerIteration,
            double loss,
            long peakBytes,
            String precision,
            String engine,
            long stepsSkipped,
            double lossScale) {
        static Amp of(MeasuredTraining training, MixedPrecision amp) {
            return new Amp(
                    training.seconds(),
                    training.secondsPerIteration(),
                    training.loss(),
                    training.peakBytes(),
                    amp.precision().name(),
                    amp.engine(),
                    amp.stepsSkipped(),
                    amp.lossScale());
        }
    }

    static SineFigures of(Fp32 fp32, Amp amp) {
        return new SineFigures(
                fp32,
                amp,
                fp32.secondsPerIteration() / amp.secondsPerIteration(),
                1 - (double) amp.peakBytes() / fp32.peakBytes());
    }
}
