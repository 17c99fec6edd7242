package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.function.IntPredicate;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

/** Networks in training with a loss scale, where oneDNN makes none of the primitives of a minibatch, or lacks some. */
class RefusedLayersTest {
    private static final int EXAMPLES = 5;

    @TempDir
    private Path folder;

    private static Stream<Arguments> rareLayers() {
        return Arrays.stream(RareLayers.values())
                .flatMap(rare -> Types.precisions().stream().map(precision -> Arguments.of(rare, precision)));
    }

    private static AmpConfig config(Precision precision) {
        return AmpConfig.builder()
                .engine(RefusingEngine.NAME)
                .precision(precision)
                .lossScaler(new StaticLossScaler(256))
                .build();
    }

    /** Trains a stock network and another one, of which a oneDNN that refuses some kernels computes what it makes. */
    private void compare(Model stock, Model ours, Precision precision, IntPredicate refuses, DataSet... batches)
            throws IOException {
        INDArray before = stock.params().dup();
        RefusingEngine.whileFound(folder, () -> {
            try (MixedPrecision amp = MixedPrecision.enable(ours, config(precision))) {
                RefusingEngine.refuse(refuses);
                for (DataSet batch : batches) {
                    Networks.fit(stock, batch);
                    Networks.fit(ours, batch);
                    double score = stock.score();
                    assertEquals(score, ours.score(), bound(precision) * Math.max(1, Math.abs(score)));
                }
                assertEquals(batches.length, amp.stepsTaken());
                // Without kernels that copy, ND4J copies.
                assertTrue(
                        !refuses.test(0)
                                || amp.plan().rows().stream()
                                        .anyMatch(row -> row.reason().contains("DL4J's own code")),
                        amp.plan()::toString);
            }
        });
        INDArray change = stock.params().sub(before);
        Agreement.assertWithin("change", change, ours.params().sub(before), bound(precision));
    }

    private static double bound(Precision precision) {
        return precision == Precision.FLOAT ? 1e-4 : 0.1;
    }

    @ParameterizedTest
    @MethodSource("rareLayers")
    void whereOneDnnMakesNothingDl4jsLayersTrainTheNetwork(RareLayers rare, Precision precision) throws IOException {
        MultiLayerNetwork stock = Networks.init(rare.network());
        compare(stock, stock.clone(), precision, asked -> true, rare.batch(EXAMPLES, 1), rare.batch(EXAMPLES, 2));
    }

    @ParameterizedTest
    @MethodSource("rareLayers")
    void whereOneDnnMakesSomeKernelsBothTrainTheNetwork(RareLayers rare, Precision precision) throws IOException {
        MultiLayerNetwork stock = Networks.init(rare.network());
        compare(
                stock,
                stock.clone(),
                precision,
                asked -> asked > 0 && new SplittableRandom(asked).nextInt(3) == 0,
                rare.batch(EXAMPLES, 1),
                rare.batch(EXAMPLES + 1, 2));
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void aNetworkOfConvolutionsTrainsOn(Precision precision) throws IOException {
        MultiLayerNetwork stock = Networks.init(Networks.cnn());
        DataSet images = Networks.images(6, 3, 12, 3);
        compare(stock, stock.clone(), precision, asked -> true, images, images);
    }

    @ParameterizedTest
    @MethodSource("org.dl4jamp.onednn.Types#precisions")
    void aGraphWithSumsTrainsOn(Precision precision) throws IOException {
        DataSet images = Networks.images(6, 3, 8, 3);
        Model stock = Networks.init(Networks.residual());
        Model ours = Networks.init(Networks.residual());
        ours.setParams(stock.params().dup());
        compare(
                stock,
                ours,
                precision,
                asked -> asked > 0 && new SplittableRandom(asked).nextInt(2) == 0,
                images,
                images);
    }
}
