package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.dropout.IDropout;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PReLULayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.layers.misc.ElementWiseMultiplicationLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.PlantedOverflow;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.listeners.SkipForensics;
import org.dl4jamp.listeners.SkipReport;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.Skip;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Reports name the layer and the parameter where an overflow was planted, on both engines. */
class SkipForensicsTest {
    private record Kind(String name, BaseLayer layer, InputType input) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static final InputType IMAGES = InputType.convolutional(6, 6, 3);
    private static final InputType SEQUENCES = InputType.recurrent(3, 5);
    private static final InputType VECTORS = InputType.feedForward(3);

    private static List<Kind> kinds() {
        return List.of(
                new Kind("dense", new DenseLayer.Builder().nOut(4).build(), VECTORS),
                new Kind(
                        "elementwise",
                        new ElementWiseMultiplicationLayer.Builder()
                                .nIn(3)
                                .nOut(3)
                                .build(),
                        VECTORS),
                new Kind("batchnorm", new BatchNormalization(), IMAGES),
                new Kind(
                        "convolution",
                        new ConvolutionLayer.Builder(3, 3).nOut(4).build(),
                        IMAGES),
                new Kind(
                        "deconvolution",
                        new Deconvolution2D.Builder(2, 2).nOut(4).build(),
                        IMAGES),
                new Kind(
                        "depthwise",
                        new DepthwiseConvolution2D.Builder(2, 2)
                                .depthMultiplier(2)
                                .build(),
                        IMAGES),
                new Kind(
                        "separable",
                        new SeparableConvolution2D.Builder(2, 2).nOut(4).build(),
                        IMAGES),
                new Kind("prelu", new PReLULayer.Builder().inputShape(3, 6, 6).build(), IMAGES),
                new Kind(
                        "convolution1d",
                        new Convolution1DLayer.Builder(3).nOut(4).build(),
                        SEQUENCES),
                new Kind("simplernn", new SimpleRnn.Builder().nOut(4).build(), SEQUENCES),
                new Kind("lstm", new LSTM.Builder().nOut(4).build(), SEQUENCES));
    }

    private static Stream<Arguments> kindsOnEngines() {
        return kinds().stream().flatMap(kind -> Stream.of("nd4j", "onednn").map(engine -> Arguments.of(kind, engine)));
    }

    private static AmpConfig on(String engine) {
        return AmpConfig.builder()
                .engine(engine)
                .precision(engine.equals("nd4j") ? Precision.HALF : Precision.AUTO)
                .build();
    }

    /** A layer of the kind between a layer that gets along with it and an output layer. */
    private static MultiLayerNetwork network(Kind kind, IDropout behind) {
        Layer first = kind.input() == IMAGES
                ? new ConvolutionLayer.Builder(1, 1).nOut(3).name("first").build()
                : kind.input() == SEQUENCES
                        ? new Convolution1DLayer.Builder(1)
                                .nOut(3)
                                .name("first")
                                .build()
                        : new DenseLayer.Builder().nOut(3).name("first").build();
        BaseLayer planted = kind.layer().clone();
        planted.setLayerName("planted");
        if (!(planted instanceof LSTM) && !(planted instanceof BatchNormalization)) {
            planted.setActivationFn(Activation.IDENTITY.getActivationFunction());
        }
        Layer output = kind.input() == SEQUENCES
                ? new RnnOutputLayer.Builder(LossFunction.MSE)
                        .nOut(2)
                        .activation(Activation.IDENTITY)
                        .name("out")
                        .build()
                : new OutputLayer.Builder(LossFunction.MSE)
                        .nOut(2)
                        .activation(Activation.IDENTITY)
                        .name("out")
                        .build();
        output.setIDropout(behind);
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .seed(3)
                .updater(new Sgd(0.01))
                .activation(Activation.IDENTITY)
                .list()
                .layer(first)
                .layer(planted)
                .layer(output)
                .setInputType(kind.input())
                .build());
        network.init();
        return network;
    }

    private static DataSet batch(Kind kind) {
        INDArray features = Networks.gaussian(1, shape(kind));
        INDArray labels = kind.input() == SEQUENCES
                ? Networks.uniform(2, 2, 2, kind.name().equals("convolution1d") ? 3 : 5)
                : Networks.uniform(3, 2, 2);
        return new DataSet(features, labels);
    }

    private static long[] shape(Kind kind) {
        return kind.input() == IMAGES
                ? new long[] {2, 3, 6, 6}
                : kind.input() == SEQUENCES ? new long[] {2, 3, 5} : new long[] {2, 3};
    }

    private static SkipReport onlyReport(SkipForensics forensics) {
        assertEquals(1, forensics.reports().size(), () -> forensics.reports().toString());
        return forensics.reports().get(0);
    }

    @ParameterizedTest
    @MethodSource("kindsOnEngines")
    void aGradientThatOverflowsInTheBackwardPassIsThatOfTheLayer(Kind kind, String engine) {
        MultiLayerNetwork network = network(kind, new PlantedOverflow());
        SkipForensics forensics = new SkipForensics(2, 10);
        network.setListeners(forensics);
        INDArray before = network.params().dup();
        try (MixedPrecision amp = MixedPrecision.enable(network, on(engine))) {
            network.fit(batch(kind));
            assertEquals(1, amp.stepsSkipped());
        }
        assertEquals(before, network.params());
        SkipReport report = onlyReport(forensics);
        SkipReport.Range origin = report.origin().orElseThrow();
        assertEquals("planted", origin.layer(), report::toString);
        assertTrue(origin.nonFinite() > 0 && origin.nonFinite() <= origin.length(), report::toString);
        assertEquals(
                Optional.of(
                        "parameter \"" + origin.array().substring("gradient of ".length()) + "\" of layer \"planted\""),
                report.skip().first());
        assertEquals(
                List.of("out", "out"),
                report.before().stream().map(SkipReport.Range::layer).toList());
        assertTrue(report.before().stream().allMatch(range -> range.nonFinite() == 0 && range.largest() > 0));
    }

    private static Stream<Arguments> unboundedOnEngines() {
        return kindsOnEngines().filter(arguments -> !List.of("lstm", "prelu").contains(arguments.get()[0].toString()));
    }

    @ParameterizedTest
    @MethodSource("unboundedOnEngines")
    void anOutputThatOverflowsInTheForwardPassIsThatOfTheLayer(Kind kind, String engine) {
        MultiLayerNetwork network = network(kind, null);
        SkipForensics forensics = new SkipForensics(1, 10);
        network.setListeners(forensics);
        try (MixedPrecision amp = MixedPrecision.enable(network, on(engine))) {
            network.paramTable().entrySet().stream()
                    .filter(parameter -> parameter.getKey().startsWith("1_"))
                    .filter(parameter -> !parameter.getKey().matches("1_(mean|var|log10stdev)"))
                    .forEach(parameter -> network.setParam(
                            parameter.getKey(), parameter.getValue().dup().assign(Float.MAX_VALUE)));
            network.fit(batch(kind));
            assertEquals(1, amp.stepsSkipped());
        }
        SkipReport report = onlyReport(forensics);
        assertEquals(Skip.Cause.LOSS, report.skip().cause());
        SkipReport.Range origin = report.origin().orElseThrow();
        assertEquals("planted", origin.layer(), report::toString);
        assertEquals("output", origin.array());
        SkipReport.Range first = report.before().get(0);
        assertEquals("first", first.layer());
        assertEquals(0, first.nonFinite());
        assertTrue(first.largest() > 0);
    }

    @Test
    void theLargestFiniteNumberAndTheCountAreThoseOfTheArray() {
        Kind kind = kinds().get(0);
        MultiLayerNetwork network = network(kind, new PlantedOverflow());
        SkipForensics forensics = new SkipForensics(0, 1);
        network.setListeners(forensics, new org.deeplearning4j.optimize.api.BaseTrainingListener() {
            @Override
            public void onGradientCalculation(Model model) {
                INDArray weights = model.gradient().getGradientFor("1_W");
                weights.assign(Nd4j.arange(-5, 7).castTo(DataType.FLOAT).reshape(weights.shape()));
                weights.putScalar(1, Double.NaN);
                weights.putScalar(2, Double.NEGATIVE_INFINITY);
            }
        });
        try (MixedPrecision amp = MixedPrecision.enable(network, on("nd4j"))) {
            network.fit(batch(kind));
            assertEquals(1, amp.stepsSkipped());
        }
        assertEquals(
                new SkipReport.Range("planted", "gradient of W", 6, 2, 12),
                onlyReport(forensics).origin().orElseThrow());
    }

    @Test
    void theGraphsVerticesAreNamedAsInItsPlan() {
        ComputationGraph graph = network(kinds().get(3), new PlantedOverflow()).toComputationGraph();
        SkipForensics forensics = new SkipForensics(1, 10);
        graph.setListeners(forensics);
        try (MixedPrecision amp = MixedPrecision.enable(graph, on("onednn"))) {
            graph.fit(batch(kinds().get(3)));
            SkipReport report = onlyReport(forensics);
            String layer = report.origin().orElseThrow().layer();
            assertEquals("1", amp.plan().row(layer).name());
            assertTrue(report.skip().first().orElseThrow().endsWith("\"" + layer + "\""));
        }
    }

    @Test
    void aBadBatchIsToldApart() {
        Kind kind = kinds().get(0);
        MultiLayerNetwork network = network(kind, null);
        SkipForensics forensics = new SkipForensics(5, 10);
        network.setListeners(forensics);
        DataSet bad = batch(kind);
        bad.getFeatures().putScalar(0, Double.NaN);
        try (MixedPrecision amp = MixedPrecision.enable(network, on("nd4j"))) {
            network.fit(bad);
        }
        SkipReport report = onlyReport(forensics);
        assertEquals(Skip.Cause.BATCH, report.skip().cause());
        assertEquals(Optional.empty(), report.origin());
        assertEquals(1, report.batch().get(0).nonFinite());
    }

    @Test
    void inAccumulationTheMicroBatchThatFailedIsReported() {
        Kind kind = kinds().get(0);
        MultiLayerNetwork network = network(kind, new PlantedOverflow());
        SkipForensics forensics = new SkipForensics(5, 10);
        network.setListeners(forensics);
        AmpConfig config = AmpConfig.builder().engine("onednn").accumulate(3).build();
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            network.fit(batch(kind));
            assertEquals("planted", onlyReport(forensics).origin().orElseThrow().layer());
        }
    }

    @Test
    void withoutASkipThereIsNoReportAndAListenerThatWasRemovedReportsNone() {
        Kind kind = kinds().get(0);
        MultiLayerNetwork network = network(kind, null);
        SkipForensics forensics = new SkipForensics(5, 10);
        network.setListeners(forensics);
        DataSet bad = batch(kind);
        bad.getFeatures().putScalar(0, Double.NaN);
        try (MixedPrecision amp = MixedPrecision.enable(network, on("onednn"))) {
            network.fit(batch(kind));
            assertEquals(List.of(), forensics.reports());
            network.setListeners(List.of());
            network.fit(bad);
            assertEquals(1, amp.stepsSkipped());
        }
        assertEquals(List.of(), forensics.reports());
    }

    @Test
    void theLastReportsAreKept() {
        Kind kind = kinds().get(0);
        MultiLayerNetwork network = network(kind, new PlantedOverflow());
        SkipForensics forensics = new SkipForensics(5, 2);
        network.setListeners(forensics);
        try (MixedPrecision amp = MixedPrecision.enable(network, on("nd4j"))) {
            for (int i = 0; i < 4; i++) {
                network.fit(batch(kind));
            }
        }
        assertEquals(
                List.of(2, 3),
                forensics.reports().stream().map(SkipReport::iteration).toList());
        assertTrue(forensics.reports().get(0).lossScale()
                > forensics.reports().get(1).lossScale());
        assertFalse(forensics.reports().get(0).toString().contains("\n"));
    }
}
