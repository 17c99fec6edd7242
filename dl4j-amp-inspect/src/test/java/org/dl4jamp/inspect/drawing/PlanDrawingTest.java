package org.dl4jamp.inspect.drawing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.awt.Color;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.zoo.model.ResNet50;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.inspect.plan.NetworkPlan;
import org.dl4jamp.inspect.plan.PlanMaker;
import org.dl4jamp.install.ResolvedConfig;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/** A drawing shows every layer in the colour of its precision, and stays as small as a poster. */
class PlanDrawingTest {
    private static final AmpConfig HALF =
            AmpConfig.builder().precision(Precision.HALF).engine("nd4j").build();
    private static final Color HALF_FILL = new Color(0xcfe4fa);
    private static final Color FLOAT_ON_HALF_FILL = new Color(0xe6e0f4);
    private static final Color FLOAT_FILL = new Color(0xfae8c8);
    private static final Color CAST_FILL = new Color(0xc8402f);

    @Test
    void anImageHasTheColoursOfThePrecisions() throws IOException {
        BufferedImage image = image(new PlanDrawing(plan(mlp("first")), "mlp"));
        Set<Integer> colours = new HashSet<>();
        for (int y = 0; y < image.getHeight(); y++) {
            for (int x = 0; x < image.getWidth(); x++) {
                colours.add(image.getRGB(x, y));
            }
        }
        for (Color colour : List.of(HALF_FILL, FLOAT_ON_HALF_FILL, FLOAT_FILL, CAST_FILL)) {
            assertTrue(colours.contains(colour.getRGB()), colour.toString());
        }
    }

    @Test
    void svgIsXmlWithEveryNameAndCast() throws Exception {
        Element svg = parsed(new PlanDrawing(plan(mlp("a<b&\"c\"")), "the title").svg());
        List<String> texts = texts(svg);
        assertTrue(
                texts.containsAll(List.of("the title", "a<b&\"c\"", "DenseLayer", "norm", "out", "in: 3")),
                texts.toString());
        assertEquals(2, texts.stream().filter(text -> text.startsWith("cast ")).count());
        assertTrue(texts.contains("cast FP32 \u2192 HALF"), texts.toString());
    }

    @Test
    void resNet50IsFoldedIntoColumnsWithEveryLayerOnce() throws Exception {
        ComputationGraphConfiguration configuration =
                ResNet50.builder().numClasses(10).build().graphBuilder().build();
        NetworkGraph graph = NetworkGraph.of(configuration);
        NetworkPlan plan = new PlanMaker()
                .inputs(List.of("3,224,224"))
                .plan("ComputationGraph", graph, ResolvedConfig.of(HALF, graph).plan(), "nd4j");
        Element svg = parsed(new PlanDrawing(plan, "resnet50").svg());
        int width = Integer.parseInt(svg.getAttribute("width"));
        int height = Integer.parseInt(svg.getAttribute("height"));
        assertTrue(width < 3500 && height < 2500, width + " x " + height);
        List<String> texts = texts(svg);
        plan.layers()
                .forEach(layer -> assertEquals(
                        1, texts.stream().filter(layer.name()::equals).count(), layer.name()));
    }

    @Test
    void withoutHalfPrecisionThereIsNeitherCastNorItsLegend() throws Exception {
        NetworkGraph graph = NetworkGraph.of(mlp("first"));
        AmpConfig dl4j = AmpConfig.builder().engine("dl4j").build();
        NetworkPlan plan = new PlanMaker()
                .plan("ComputationGraph", graph, ResolvedConfig.of(dl4j, graph).plan(), "dl4j");
        List<String> texts = texts(parsed(new PlanDrawing(plan, "mlp").svg()));
        assertFalse(texts.stream().anyMatch(text -> text.contains("cast") || text.contains("converted")));
        assertTrue(texts.contains("computes in FP32"), texts.toString());
    }

    private static ComputationGraphConfiguration mlp(String first) {
        return new NeuralNetConfiguration.Builder()
                .graphBuilder()
                .addInputs("in")
                .addLayer(first, new DenseLayer.Builder().nIn(3).nOut(4).build(), "in")
                .addLayer("norm", new BatchNormalization.Builder().nOut(4).build(), first)
                .addLayer("second", new DenseLayer.Builder().nIn(4).nOut(4).build(), "norm")
                .addLayer("out", new OutputLayer.Builder().nIn(4).nOut(2).build(), "second")
                .setOutputs("out")
                .validateOutputLayerConfig(false)
                .build();
    }

    private static NetworkPlan plan(ComputationGraphConfiguration configuration) {
        NetworkGraph graph = NetworkGraph.of(configuration);
        return new PlanMaker()
                .plan("ComputationGraph", graph, ResolvedConfig.of(HALF, graph).plan(), "nd4j");
    }

    private static BufferedImage image(PlanDrawing drawing) throws IOException {
        return ImageIO.read(new ByteArrayInputStream(drawing.png()));
    }

    private static Element parsed(String svg) throws Exception {
        return DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new ByteArrayInputStream(svg.getBytes(StandardCharsets.UTF_8)))
                .getDocumentElement();
    }

    private static List<String> texts(Element svg) {
        NodeList texts = svg.getElementsByTagName("text");
        return IntStream.range(0, texts.getLength())
                .mapToObj(i -> texts.item(i).getTextContent())
                .toList();
    }
}
