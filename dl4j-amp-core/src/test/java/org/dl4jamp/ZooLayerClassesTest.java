package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.zoo.ZooModel;
import org.deeplearning4j.zoo.model.AlexNet;
import org.deeplearning4j.zoo.model.Darknet19;
import org.deeplearning4j.zoo.model.FaceNetNN4Small2;
import org.deeplearning4j.zoo.model.InceptionResNetV1;
import org.deeplearning4j.zoo.model.LeNet;
import org.deeplearning4j.zoo.model.ResNet50;
import org.deeplearning4j.zoo.model.SimpleCNN;
import org.deeplearning4j.zoo.model.SqueezeNet;
import org.deeplearning4j.zoo.model.TextGenerationLSTM;
import org.deeplearning4j.zoo.model.TinyYOLO;
import org.deeplearning4j.zoo.model.UNet;
import org.deeplearning4j.zoo.model.VGG16;
import org.deeplearning4j.zoo.model.Xception;
import org.deeplearning4j.zoo.model.YOLO2;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The layers of the networks that DL4J's zoo builds, for small images. VGG19 has the layers of VGG16; NASNet's own
 * configuration is one that DL4J rejects.
 */
@Tag("long")
class ZooLayerClassesTest {
    private static final int[] IMAGE = {3, 96, 96};

    static Stream<Named<Supplier<ZooModel<?>>>> models() {
        return Stream.of(
                model(
                        "AlexNet",
                        () -> AlexNet.builder().numClasses(3).inputShape(IMAGE).build()),
                model("Darknet19", () -> Darknet19.builder()
                        .numClasses(3)
                        .inputShape(IMAGE)
                        .build()),
                model("FaceNet", () -> FaceNetNN4Small2.builder()
                        .numClasses(3)
                        .inputShape(IMAGE)
                        .build()),
                model("Inception", () -> InceptionResNetV1.builder()
                        .numClasses(3)
                        .inputShape(IMAGE)
                        .build()),
                model("LeNet", () -> LeNet.builder()
                        .numClasses(3)
                        .inputShape(new int[] {3, 32, 32})
                        .build()),
                model("ResNet50", () -> ResNet50.builder().numClasses(3).build()),
                model("SimpleCNN", () -> SimpleCNN.builder()
                        .numClasses(3)
                        .inputShape(new int[] {3, 48, 48})
                        .build()),
                model("SqueezeNet", () -> SqueezeNet.builder()
                        .numClasses(3)
                        .inputShape(IMAGE)
                        .build()),
                model("TextGenerationLSTM", () -> TextGenerationLSTM.builder()
                        .inputShape(new int[] {40, 47})
                        .build()),
                model("TinyYOLO", () -> TinyYOLO.builder().inputShape(IMAGE).build()),
                model("UNet", () -> UNet.builder().inputShape(IMAGE).build()),
                model("VGG16", () -> VGG16.builder()
                        .numClasses(3)
                        .inputShape(new int[] {3, 32, 32})
                        .build()),
                model(
                        "Xception",
                        () -> Xception.builder().numClasses(3).inputShape(IMAGE).build()),
                model("YOLO2", () -> YOLO2.builder().inputShape(IMAGE).build()));
    }

    private static Named<Supplier<ZooModel<?>>> model(String name, Supplier<ZooModel<?>> model) {
        return Named.of(name, model);
    }

    /** A network of either kind, with the methods of both. */
    private record Network(Model model) {
        Layer[] layers() {
            return model instanceof MultiLayerNetwork network
                    ? network.getLayers()
                    : ((ComputationGraph) model).getLayers();
        }

        List<?> vertices() {
            return model instanceof ComputationGraph graph ? List.of(graph.getVertices()) : List.of();
        }

        String summary() {
            return model instanceof MultiLayerNetwork network
                    ? network.summary()
                    : ((ComputationGraph) model).summary();
        }

        MixedPrecision enable() {
            AmpConfig half = Gradients.config(Precision.HALF);
            return model instanceof MultiLayerNetwork network
                    ? MixedPrecision.enable(network, half)
                    : MixedPrecision.enable((ComputationGraph) model, half);
        }
    }

    @ParameterizedTest
    @MethodSource("models")
    void layersKeepTheirClasses(Supplier<ZooModel<?>> model) {
        Network network = new Network(model.get().init());
        String summary = network.summary();
        Layer[] own = network.layers().clone();
        List<?> vertices = network.vertices();
        try (MixedPrecision amp = network.enable()) {
            assertTrue(amp.plan().anyHalf());
            LayerClassesTest.assertClassesOf(own, network.layers());
            for (int i = 0; i < vertices.size(); i++) {
                assertTrue(
                        vertices.get(i).getClass().isInstance(network.vertices().get(i)), "vertex " + i);
            }
            assertEquals(summary, network.summary());
        }
        for (int i = 0; i < own.length; i++) {
            assertSame(own[i], network.layers()[i], "layer " + i);
        }
        network.model().close();
    }
}
