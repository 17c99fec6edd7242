package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.constraint.MaxNormConstraint;
import org.deeplearning4j.nn.conf.constraint.NonNegativeConstraint;
import org.deeplearning4j.nn.conf.constraint.UnitNormConstraint;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.TimeDistributed;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;
import org.nd4j.linalg.schedule.ScheduleType;
import org.nd4j.linalg.schedule.StepSchedule;

/** All settings of a configuration for training stay in force: several steps change the parameters as in FP32. */
class TrainingSettingsTest {
    private static final DataSet VECTORS = Networks.vectors(48, 10, 3);

    private record Settings(String name, UnaryOperator<NeuralNetConfiguration.Builder> settings) {
        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Settings> settings() {
        return Stream.of(
                new Settings("L2", b -> b.l2(0.05)),
                new Settings("L1", b -> b.l1(0.01)),
                new Settings("weight decay", b -> b.weightDecay(0.05)),
                new Settings("maximal norm", b -> b.constrainWeights(new MaxNormConstraint(0.8, 1))),
                new Settings("unit norm", b -> b.constrainWeights(new UnitNormConstraint(1))),
                new Settings("no negative weights", b -> b.constrainWeights(new NonNegativeConstraint())),
                new Settings("clipping by value", b -> b.gradientNormalization(
                                GradientNormalization.ClipElementWiseAbsoluteValue)
                        .gradientNormalizationThreshold(0.01)),
                new Settings("clipping by norm", b -> b.gradientNormalization(GradientNormalization.ClipL2PerLayer)
                        .gradientNormalizationThreshold(0.5)),
                new Settings(
                        "normalized gradients",
                        b -> b.gradientNormalization(GradientNormalization.RenormalizeL2PerLayer)),
                new Settings(
                        "schedule",
                        b -> b.updater(new Nesterovs(new StepSchedule(ScheduleType.ITERATION, 0.1, 0.5, 2), 0.9))),
                new Settings("sum of losses", b -> b.miniBatch(false).updater(new Sgd(0.002))),
                new Settings("dropout", b -> b.dropOut(0.8)),
                new Settings("drop connect", b -> b.weightNoise(new DropConnect(0.9))),
                new Settings("no workspaces", b -> b.trainingWorkspaceMode(WorkspaceMode.NONE)
                        .inferenceWorkspaceMode(WorkspaceMode.NONE)),
                new Settings("cache", b -> b.cacheMode(CacheMode.DEVICE)),
                new Settings("bias updater", b -> b.biasUpdater(new Sgd(0.3))));
    }

    private static void assertLearnsAlike(MultiLayerNetwork fp32, DataSet data, double relative) {
        MultiLayerNetwork mixed = fp32.clone();
        INDArray before = fp32.params().dup();
        try (MixedPrecision amp = MixedPrecision.enable(mixed, Gradients.config(Precision.HALF))) {
            assertTrue(amp.plan().anyHalf());
            for (int i = 0; i < 6; i++) {
                Comparison.seeded(() -> {
                    fp32.fit(data);
                    return fp32;
                });
                Comparison.seeded(() -> {
                    mixed.fit(data);
                    return mixed;
                });
            }
            assertEquals(6, amp.stepsTaken());
            assertEquals(fp32.score(data), mixed.score(data), 0.02 * Math.abs(fp32.score(data)));
        }
        Comparison.assertClose(fp32.params().sub(before), mixed.params().sub(before), relative, "what was learned");
    }

    @ParameterizedTest
    @MethodSource("settings")
    void settingsHoldAsInFp32(Settings settings) {
        assertLearnsAlike(
                Networks.init(settings.settings()
                        .apply(Networks.builder(new Nesterovs(0.1, 0.9)))
                        .list()
                        .layer(Networks.dense(16, Activation.TANH))
                        .layer(Networks.dense(16, Activation.TANH))
                        .layer(Networks.softmax(3))
                        .setInputType(InputType.feedForward(10))
                        .build()),
                VECTORS,
                0.03);
    }

    @Test
    void eachLayerKeepsItsUpdater() {
        assertLearnsAlike(
                Networks.init(Networks.builder(new Sgd(0.1))
                        .list()
                        .layer(new DenseLayer.Builder()
                                .nOut(16)
                                .activation(Activation.TANH)
                                .updater(new RmsProp(0.01))
                                .build())
                        .layer(new DenseLayer.Builder()
                                .nOut(16)
                                .activation(Activation.TANH)
                                .updater(new Nesterovs(0.05, 0.9))
                                .build())
                        .layer(Networks.softmax(3))
                        .setInputType(InputType.feedForward(10))
                        .build()),
                VECTORS,
                0.1);
    }

    @Test
    void channelsMayComeLast() {
        DataSet images = Networks.images(12, 3, 8, 3);
        assertLearnsAlike(
                Networks.init(Networks.builder(new Nesterovs(0.01, 0.9))
                        .list()
                        .layer(new ConvolutionLayer.Builder(3, 3)
                                .nOut(6)
                                .dataFormat(CNN2DFormat.NHWC)
                                .activation(Activation.TANH)
                                .build())
                        .layer(new BatchNormalization.Builder().build())
                        .layer(new ConvolutionLayer.Builder(3, 3)
                                .nOut(6)
                                .dataFormat(CNN2DFormat.NHWC)
                                .activation(Activation.TANH)
                                .build())
                        .layer(Networks.softmax(3))
                        .setInputType(InputType.convolutional(8, 8, 3, CNN2DFormat.NHWC))
                        .build()),
                new DataSet(images.getFeatures().permute(0, 2, 3, 1).dup('c'), images.getLabels()),
                0.03);
    }

    @Test
    void featuresOfTimeSeriesMayComeLast() {
        DataSet data = Networks.sequences(6, 5, 3, 7);
        assertLearnsAlike(
                Networks.init(Networks.builder(new Nesterovs(0.1, 0.9))
                        .list()
                        .layer(new LSTM.Builder()
                                .nOut(8)
                                .dataFormat(RNNFormat.NWC)
                                .build())
                        .layer(new LSTM.Builder()
                                .nOut(8)
                                .dataFormat(RNNFormat.NWC)
                                .build())
                        .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT)
                                .nOut(3)
                                .dataFormat(RNNFormat.NWC)
                                .activation(Activation.SOFTMAX)
                                .build())
                        .setInputType(InputType.recurrent(5, 7, RNNFormat.NWC))
                        .build()),
                new DataSet(
                        data.getFeatures().permute(0, 2, 1).dup('c'),
                        data.getLabels().permute(0, 2, 1).dup('c')),
                0.03);
    }

    @Test
    void learningRateMayChangeAndClearMayBeCalledInTheMiddle() {
        // Not a clone: it would share its updaters' settings with the original, learning rates included.
        MultiLayerNetwork fp32 = Networks.init(Networks.mlp());
        MultiLayerNetwork mixed = Networks.init(Networks.mlp());
        DataSet data = Networks.vectors(32, 20, 3);
        MixedPrecision amp = MixedPrecision.enable(
                mixed, AmpConfig.builder().precision(Precision.FLOAT).build());
        for (MultiLayerNetwork network : new MultiLayerNetwork[] {fp32, mixed}) {
            network.fit(data);
            network.setLearningRate(0.05);
            network.fit(data);
            network.setLearningRate(1, 0.001);
            network.fit(data);
        }
        assertEquals(fp32.params(), mixed.params());
        for (MultiLayerNetwork network : new MultiLayerNetwork[] {fp32, mixed}) {
            network.clear();
            network.fit(data);
        }
        assertEquals(4, amp.stepsTaken());
        assertEquals(fp32.params(), mixed.params());
        assertEquals(fp32.getUpdater().getStateViewArray(), mixed.getUpdater().getStateViewArray());
    }

    @ParameterizedTest
    @EnumSource(names = {"HALF", "FLOAT"})
    void constraintsAreNotAppliedInASkippedStep(Precision precision) {
        MultiLayerNetwork network = Networks.init(Networks.builder(new Sgd(0.1))
                .constrainWeights(new UnitNormConstraint(1))
                .list()
                .layer(Networks.dense(16, Activation.TANH))
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(10))
                .build());
        MixedPrecision amp = MixedPrecision.enable(network, Gradients.config(precision));
        INDArray before = network.params().dup();
        network.setListeners(new BaseTrainingListener() {
            @Override
            public void onGradientCalculation(Model model) {
                model.gradient().gradient().putScalar(0, Float.NaN);
            }
        });
        network.fit(VECTORS);
        assertEquals(1, amp.stepsSkipped());
        assertEquals(before, network.params());
        network.setListeners();
        network.fit(VECTORS);
        assertEquals(1, amp.stepsTaken());
        INDArray norms = network.getParam("0_W").norm2(1);
        assertEquals(1, norms.maxNumber().doubleValue(), 1e-4);
        assertEquals(1, norms.minNumber().doubleValue(), 1e-4);
    }

    private static long negative(INDArray numbers) {
        return numbers.lt(0).castTo(DataType.INT).sumNumber().longValue();
    }

    static Stream<Layer> layersAroundConstrainedOnes() {
        LSTM lstm = new LSTM.Builder()
                .nIn(4)
                .nOut(5)
                .constrainWeights(new NonNegativeConstraint())
                .build();
        DenseLayer dense = new DenseLayer.Builder()
                .nIn(4)
                .nOut(5)
                .constrainWeights(new NonNegativeConstraint())
                .build();
        return Stream.of(
                new Bidirectional(Bidirectional.Mode.ADD, lstm.clone()),
                new MaskZeroLayer.Builder()
                        .underlying(new Bidirectional(Bidirectional.Mode.ADD, lstm.clone()))
                        .build(),
                new MaskZeroLayer.Builder().underlying(lstm.clone()).build(),
                new TimeDistributed(dense, RNNFormat.NCW));
    }

    @ParameterizedTest
    @MethodSource("layersAroundConstrainedOnes")
    void constraintsOfALayerInsideAnotherAreNotAppliedInASkippedStep(Layer layer) {
        MultiLayerNetwork network = Networks.init(Networks.builder(new Sgd(0.1))
                .list()
                .layer(layer)
                .layer(Networks.rnnSoftmax(3))
                .setInputType(InputType.recurrent(4, 6))
                .build());
        DataSet sequences = Networks.sequences(4, 4, 3, 6);
        DataSet bad = new DataSet(
                sequences.getFeatures(), sequences.getLabels().like().assign(Float.NaN));
        AmpConfig config =
                AmpConfig.builder().precision(Precision.FLOAT).engine("dl4j").build();
        INDArray before = network.params().dup();
        long parameters = network.getLayer(0).numParams();
        INDArray weights = network.params().reshape(network.numParams()).get(NDArrayIndex.interval(0, parameters));
        try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
            network.fit(bad);
            assertEquals(1, amp.stepsSkipped());
            assertEquals(before, network.params());
            try (Pause pause = amp.pause()) {
                network.fit(bad);
                assertEquals(2, amp.stepsSkipped());
                assertEquals(before, network.params());
            }
            long negative = negative(weights);
            network.fit(sequences);
            assertEquals(1, amp.stepsTaken());
            long left = negative(weights);
            // Biases aren't constrained.
            assertTrue(left < negative / 2, () -> left + " negative parameters are left of " + negative);
        }
    }
}
