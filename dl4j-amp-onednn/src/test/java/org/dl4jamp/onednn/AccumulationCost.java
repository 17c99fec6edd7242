package org.dl4jamp.onednn;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.engine.WorkEvent;
import org.dl4jamp.onednn.host.HostStepKernels;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

/**
 * Prints what accumulation, clipping by norm and the finite check cost: the benchmark's mlp with the check alone, with
 * a limit for the norm, and with accumulation as well, four fits of each in turn in one process. It's no test: nothing
 * judges the times, and builds don't run it.
 *
 * <p>{@code mvn -B test -pl dl4j-amp-onednn -am -Dtest=AccumulationCost -Dsurefire.failIfNoSpecifiedTests=false}, in
 * FP32 with {@code -Damp.precision=FLOAT}
 */
class AccumulationCost {
    private static final int FITS = 4;
    private static final int ROUNDS = 15;
    private static final int WARM_UP = 4;
    private static final long PARAMETERS = 25_076_712L;

    /** A network that takes its turns. */
    private static final class Side {
        private final MultiLayerNetwork network = mlp();
        private final List<Instant> begins = new ArrayList<>();
        private final List<Instant> ends = new ArrayList<>();

        Side(AmpConfig config) {
            MixedPrecision.enable(network, config);
        }

        void fit(DataSet data) {
            begins.add(Instant.now());
            for (int i = 0; i < FITS; i++) {
                network.fit(data);
            }
            ends.add(Instant.now());
        }

        double[] milliseconds() {
            double[] each = new double[ROUNDS];
            for (int i = 0; i < ROUNDS; i++) {
                each[i] = millis(Duration.between(begins.get(WARM_UP + i), ends.get(WARM_UP + i)));
            }
            return each;
        }

        /** Returns how much of each turn was work of a kind. */
        double[] milliseconds(String kind, List<RecordedEvent> work) {
            double[] each = new double[ROUNDS];
            for (int i = 0; i < ROUNDS; i++) {
                Instant begin = begins.get(WARM_UP + i);
                Instant end = ends.get(WARM_UP + i);
                each[i] = work.stream()
                        .filter(event -> event.getString("kind").equals(kind))
                        .filter(event -> !event.getStartTime().isBefore(begin))
                        .filter(event -> event.getEndTime().isBefore(end))
                        .mapToDouble(event -> millis(event.getDuration()))
                        .sum();
            }
            return each;
        }
    }

    private static double millis(Duration time) {
        return time.toNanos() / 1e6;
    }

    private static MultiLayerNetwork mlp() {
        return Networks.init(Networks.builder(new Adam(1e-3))
                .list()
                .layer(Networks.dense(4096, Activation.RELU))
                .layer(Networks.dense(4096, Activation.RELU))
                .layer(Networks.softmax(1000))
                .setInputType(InputType.feedForward(1024))
                .build());
    }

    private static AmpConfig.Builder config() {
        return AmpConfig.builder()
                .precision(Precision.valueOf(System.getProperty("amp.precision", "AUTO")))
                .engine("onednn");
    }

    private static double median(double[] numbers) {
        double[] sorted = numbers.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    @Test
    void printsFitsWithAndWithout() throws IOException {
        DataSet data = Networks.vectors(256, 1024, 1000);
        Map<String, Side> sides = new LinkedHashMap<>();
        sides.put("check", new Side(config().build()));
        sides.put("check, norm", new Side(config().clipGradientNorm(0.1).build()));
        sides.put(
                "check, norm, accumulation",
                new Side(config().accumulate(FITS).clipGradientNorm(0.1).build()));
        List<RecordedEvent> work = recorded(() -> {
            for (int i = 0; i < WARM_UP + ROUNDS; i++) {
                sides.values().forEach(side -> side.fit(data));
            }
        });
        System.out.printf("%-30s %10s %20s %10s%n", "four fits, ms", "all", "check, norm, sums", "updater");
        sides.forEach((name, side) -> {
            double all = median(side.milliseconds());
            double passes = median(side.milliseconds(WorkEvent.CHECK, work));
            double updater = median(side.milliseconds(WorkEvent.UPDATER, work));
            System.out.printf(
                    "%-30s %10.1f %11.1f (%4.1f %%) %10.1f%n", name, all, passes, 100 * passes / all, updater);
        });
        printPasses();
    }

    private static List<RecordedEvent> recorded(Runnable action) throws IOException {
        Path file = Files.createTempFile("accumulation-cost-", ".jfr");
        try (Recording recording = new Recording()) {
            recording.enable(WorkEvent.NAME).withoutThreshold();
            recording.start();
            action.run();
            recording.stop();
            recording.dump(file);
            return RecordingFile.readAllEvents(file).stream()
                    .filter(event -> event.getEventType().getName().equals(WorkEvent.NAME))
                    .toList();
        } finally {
            Files.delete(file);
        }
    }

    /** The passes alone, over as many numbers. */
    private static void printPasses() {
        StepKernels kernels = new HostStepKernels(StepKernels.nd4j());
        INDArray gradients = Nd4j.create(DataType.FLOAT, PARAMETERS);
        INDArray sums = Nd4j.rand(DataType.FLOAT, PARAMETERS);
        List<INDArray> from = List.of(gradients);
        List<INDArray> to = List.of(sums);
        System.out.printf("%n%-30s %10s%n", "a pass alone, ms", "");
        print("finite check", gradients, () -> kernels.allFinite(gradients));
        print("norm", gradients, () -> kernels.norm2(from));
        print("first of several", gradients, () -> kernels.move(from, to, true));
        print("further one", gradients, () -> kernels.move(from, to, false));
        print("last one, and norm", gradients, () -> kernels.add(to, from));
    }

    private static void print(String what, INDArray gradients, Runnable pass) {
        double[] milliseconds = new double[30];
        for (int i = 0; i < milliseconds.length; i++) {
            // Passes leave zeros, and their norm is computed in double precision.
            gradients.assign(1e-3);
            long start = System.nanoTime();
            pass.run();
            milliseconds[i] = (System.nanoTime() - start) / 1e6;
        }
        System.out.printf("%-30s %10.1f%n", what, median(milliseconds));
    }
}
