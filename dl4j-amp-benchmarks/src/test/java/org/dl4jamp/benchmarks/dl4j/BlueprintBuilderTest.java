package org.dl4jamp.benchmarks.dl4j;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration.ListBuilder;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Loss;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Parameter;
import org.dl4jamp.benchmarks.blueprint.Updater;
import org.dl4jamp.benchmarks.blueprint.Window;
import org.dl4jamp.benchmarks.cases.AttentionCase;
import org.dl4jamp.benchmarks.cases.BenchmarkCase;
import org.dl4jamp.benchmarks.cases.BenchmarkCases;
import org.dl4jamp.benchmarks.cases.LstmCase;
import org.dl4jamp.benchmarks.cases.Resnet50Case;
import org.dl4jamp.benchmarks.cases.TinyCases;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

class BlueprintBuilderTest {
    @Test
    void zeroPaddingBecomesTheConvolutionsOwn() {
        Blueprint blueprint = blueprint(new Resnet50Case(160, 2, 10));
        Operation first = blueprint.operations().get(0);
        assertEquals(
                new Operation.Convolution(
                        "stem-cnn1", List.of(Blueprint.INPUT), new Window(7, 7, 2, 2, Window.Padding.even(3, 3))),
                first);
        assertEquals(
                16,
                blueprint.operations().stream()
                        .filter(Operation.Add.class::isInstance)
                        .count());
        assertEquals(
                53,
                blueprint.operations().stream()
                        .filter(Operation.Convolution.class::isInstance)
                        .count());
        assertEquals(new Updater.Nesterov(1e-4, 0.9), blueprint.updater());
        assertEquals(new Loss(Loss.Kind.CROSS_ENTROPY, 2, 2), blueprint.loss());
    }

    @Test
    void sequencesAndLabelsHaveTimeBeforeFeatures() {
        LstmCase lstm = TinyCases.lstm();
        Model model = BlueprintBuilder.build("lstm", lstm.network(), lstm.batch());
        assertArrayEquals(
                new long[] {4, 6, 5}, model.tensors().get(Blueprint.FEATURES).shape());
        assertArrayEquals(
                new long[] {4, 6}, model.tensors().get(Blueprint.LABELS).shape());
        assertEquals(new Loss(Loss.Kind.CROSS_ENTROPY, 24, 4), model.blueprint().loss());
    }

    @Test
    void gatesOfAnLstmAreReordered() {
        INDArray bias = Nd4j.createFromArray(new float[] {1, 2, 3, 4, 5, 6, 7, 8});
        assertArrayEquals(
                new float[] {7, 8, 3, 4, 1, 2, 5, 6},
                LstmGates.reorder(bias).data().asFloat());
        INDArray weights = Nd4j.createFromArray(new float[][] {{1, 2, 3, 4}, {5, 6, 7, 8}});
        assertEquals(Nd4j.createFromArray(new float[][] {{4, 8}, {2, 6}, {1, 5}, {3, 7}}), LstmGates.reorder(weights));
    }

    @Test
    void peepholesAreReorderedAndRecurrentWeightsLoseThem() {
        INDArray recurrent = Nd4j.arange(22).castTo(DataType.FLOAT).reshape(2, 11);
        assertEquals(Nd4j.createFromArray(new float[][] {{10, 21}, {8, 19}, {9, 20}}), LstmGates.peepholes(recurrent));
        assertEquals(
                Nd4j.createFromArray(new float[][] {{0, 1, 2, 3, 4, 5, 6, 7}, {11, 12, 13, 14, 15, 16, 17, 18}}),
                LstmGates.withoutPeepholes(recurrent));
    }

    @Test
    void attentionIsOneProductForQueriesKeysAndValuesItsHeadsAndAProduct() {
        AttentionCase attention = TinyCases.attention();
        Model model = BlueprintBuilder.build("attention", attention.network(), attention.batch());
        List<Operation> operations = model.blueprint().operations();
        assertEquals(new Operation.Dense("embedding", List.of(Blueprint.INPUT), true), operations.get(0));
        Operation projections = new Operation.Dense("attention_0_projections", List.of("embedding"), false);
        assertEquals(
                List.of(
                        projections,
                        new Operation.Attention("attention_0_heads", List.of(projections.name()), 3),
                        new Operation.Dense("attention_0", List.of("attention_0_heads"), false),
                        new Operation.Add("attended_0", List.of("embedding", "attention_0"))),
                operations.subList(1, 5));
        assertArrayEquals(
                new long[] {36, 12},
                model.tensors().get(projections, Parameter.WEIGHTS).shape());
        assertEquals(new Loss(Loss.Kind.CROSS_ENTROPY, 28, 4), model.blueprint().loss());
        assertEquals(new Updater.Adam(1e-4, 0.9, 0.999, 1e-8), model.blueprint().updater());
    }

    @Test
    void aUnetMergesAndRepeatsPixelsAndPadsEvenWindowsBelowAndOnTheRight() {
        Blueprint blueprint = blueprint(TinyCases.unet());
        Map<String, Operation> operations =
                blueprint.operations().stream().collect(Collectors.toMap(Operation::name, each -> each));
        assertEquals(
                new Operation.Upsampling("up6-1", List.of("conv5-2_relu"), 2, 2),
                operations.get("up6-1"),
                "without dropout there is no operation of it");
        assertEquals(
                new Operation.Convolution(
                        "up6-2", List.of("up6-1"), new Window(2, 2, 1, 1, new Window.Padding(0, 0, 1, 1))),
                operations.get("up6-2"));
        assertEquals(new Operation.Merge("merge6", List.of("conv4-2_relu", "up6-2_relu")), operations.get("merge6"));
        assertEquals(
                new Operation.Convolution(
                        "conv6-1", List.of("merge6"), new Window(3, 3, 1, 1, Window.Padding.even(1, 1))),
                operations.get("conv6-1"));
        assertEquals(
                new Operation.MaxPooling("pool1", List.of("conv1-2_relu"), new Window(2, 2, 2, 2, Window.Padding.NONE)),
                operations.get("pool1"));
        assertEquals(new Loss(Loss.Kind.BINARY_CROSS_ENTROPY, 2 * 16 * 16, 2), blueprint.loss());
    }

    @Test
    void mergedSequencesAreRefusedByName() {
        ComputationGraph network = new ComputationGraph(new NeuralNetConfiguration.Builder()
                .updater(new Sgd(1))
                .graphBuilder()
                .addInputs("steps")
                .addVertex("twice", new MergeVertex(), "steps", "steps")
                .addLayer("output", new RnnOutputLayer.Builder().nOut(2).build(), "twice")
                .setOutputs("output")
                .setInputTypes(InputType.recurrent(2, 5))
                .build());
        network.init();
        DataSet batch = new DataSet(Nd4j.ones(1, 2, 5), Nd4j.ones(1, 2, 5));
        String message = assertThrows(
                        IllegalArgumentException.class, () -> BlueprintBuilder.build("refused", network, batch))
                .getMessage();
        assertTrue(message.contains("vertex twice") && message.contains("3 axes"), message);
    }

    @Test
    void lossesOfPixelsThatABlueprintHasntAreRefused() {
        assertRefused(
                "loss of layer layer1",
                list(new Sgd(1)).layer(convolution().build()).layer(new CnnLossLayer.Builder(LossFunction.L1).build()));
        assertRefused(
                "of 3 channels",
                list(new Sgd(1))
                        .layer(convolution().build())
                        .layer(new CnnLossLayer.Builder(LossFunction.MSE)
                                .activation(Activation.IDENTITY)
                                .build()));
    }

    @Test
    void dropoutIsRefusedByName() {
        assertRefused(
                "layer layer0",
                list(new Sgd(1))
                        .layer(new DropoutLayer(0.5))
                        .layer(convolution().build()));
    }

    @Test
    void aConvolutionOfSeveralStepsIsRefusedByName() {
        MultiLayerNetwork network = new MultiLayerNetwork(list(new Sgd(1))
                .layer(new Convolution1DLayer.Builder(3).nOut(3).build())
                .layer(new RnnOutputLayer.Builder().nOut(2).build())
                .setInputType(InputType.recurrent(2, 5))
                .build());
        network.init();
        DataSet batch = new DataSet(Nd4j.ones(1, 2, 5), Nd4j.ones(1, 2, 3));
        String message = assertThrows(
                        IllegalArgumentException.class, () -> BlueprintBuilder.build("refused", network, batch))
                .getMessage();
        assertTrue(message.contains("layer layer0"), message);
    }

    @Test
    void whatABlueprintCantDescribeIsRefusedByName() {
        assertRefused("layer1", list(new Sgd(1)).layer(convolution().build()).layer(new GlobalPoolingLayer()));
        assertRefused(
                "activation of layer layer0",
                list(new Sgd(1)).layer(convolution().activation(Activation.TANH).build()));
        assertRefused(
                "mode Same of layer layer0",
                list(new Sgd(1))
                        .layer(convolution()
                                .kernelSize(3, 3)
                                .stride(2, 2)
                                .convolutionMode(ConvolutionMode.Same)
                                .build()));
        assertRefused(
                "updater",
                list(new RmsProp(1))
                        .layer(convolution().build())
                        .layer(new CnnLossLayer.Builder(LossFunction.XENT)
                                .activation(Activation.SIGMOID)
                                .build()));
    }

    @Test
    void anUnknownCaseIsAnsweredWithThoseThatThereAre() {
        String message = assertThrows(IllegalArgumentException.class, () -> BenchmarkCases.named("vgg"))
                .getMessage();
        assertTrue(message.contains("vgg") && message.contains("sine-64, sine-128"), message);
        assertEquals("sine-17", BenchmarkCases.named("sine-17").name());
    }

    private static ListBuilder list(IUpdater updater) {
        return new NeuralNetConfiguration.Builder().updater(updater).list();
    }

    private static ConvolutionLayer.Builder convolution() {
        return new ConvolutionLayer.Builder(1, 1).nOut(3).activation(Activation.IDENTITY);
    }

    private static void assertRefused(String what, ListBuilder list) {
        MultiLayerNetwork network = new MultiLayerNetwork(
                list.setInputType(InputType.convolutional(4, 4, 2)).build());
        network.init();
        DataSet batch = new DataSet(Nd4j.ones(1, 2, 4, 4), Nd4j.ones(1, 3, 4, 4));
        String message = assertThrows(
                        IllegalArgumentException.class, () -> BlueprintBuilder.build("refused", network, batch))
                .getMessage();
        assertTrue(message.startsWith("a blueprint") && message.contains(what), message);
    }

    private static Blueprint blueprint(BenchmarkCase benchmark) {
        return BlueprintBuilder.build(benchmark.name(), benchmark.network(), benchmark.batch())
                .blueprint();
    }
}
