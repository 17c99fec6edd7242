package org.dl4jamp.inspect.compare.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.inspect.compare.Comparison;
import org.dl4jamp.inspect.compare.TestNetworks;
import org.dl4jamp.inspect.compare.numbers.NumberRange;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class ReportsTest {
    private static final String NAME = "a<b>&\"c'.zip";
    private static Comparison comparison;

    @BeforeAll
    static void compare() {
        comparison = Comparison.run(
                TestNetworks.overflowing(),
                AmpConfig.builder().precision(Precision.HALF).engine("nd4j").build(),
                TestNetworks.vectors(16, 20, 3));
    }

    @Test
    void textBeginsWithTheConclusionAndHasEveryLayerAndParameter() {
        String text = ComparisonText.of(NAME, "random", comparison);
        int verdict = text.indexOf("The weakest layer is \"layer0\"");
        int table = text.indexOf("Layers:");
        assertTrue(verdict > 0 && verdict < table, text);
        assertTrue(text.contains("This mends it: AmpConfig.builder().precision(Precision.HALF)"), text);
        String[] lines = text.substring(text.indexOf("Parameters:")).split("\\R");
        for (String parameter : new String[] {"layer0 +W", "layer0 +b", "layer3 +W"}) {
            assertTrue(Arrays.stream(lines).anyMatch(line -> line.matches(parameter + " .*")), parameter);
        }
        assertTrue(text.lines().anyMatch(line -> line.matches("layer1 +DenseLayer +HALF +overflow .*")), text);
    }

    @Test
    void jsonHasAllFiguresAndNoNumberThatJsonLacks() throws Exception {
        String json = ComparisonJson.of(NAME, "random", comparison).toString();
        JsonNode read = new ObjectMapper().readTree(json);
        assertEquals(NAME, read.at("/model").asText());
        assertEquals("MENDED", read.at("/comparison/verdict/kind").asText());
        assertEquals("layer0", read.at("/comparison/verdict/weakest").asText());
        JsonNode layer = read.at("/comparison/layers/0");
        assertTrue(layer.at("/activations/mixed/error").isNull(), layer.toString());
        assertEquals(1, layer.at("/activations/mixed/nonFinite").asDouble());
        assertTrue(layer.at("/activations/inFp32/exponents").size() > 3, layer.toString());
        assertTrue(layer.at("/computedWith").isNull(), layer.toString());
        assertEquals("W", layer.at("/parameters/0/parameter").asText());
        assertFalse(Pattern.compile("[:,]\"?-?(NaN|Infinity)").matcher(json).find(), json);
    }

    @Test
    void htmlIsWellFormedEscapedAndNeedsNoNetwork() throws Exception {
        String html = ComparisonHtml.of(NAME, "random", comparison);
        assertTrue(html.contains("a&lt;b&gt;&amp;&quot;c&#39;.zip"), html);
        assertFalse(html.contains(NAME));
        assertFalse(
                Pattern.compile("https?:|src=|<script|@import|url\\(")
                        .matcher(html)
                        .find(),
                html);
        assertTrue(html.contains("width=device-width"));
        // All but the head is XML.
        String body = html.substring(html.indexOf("<body>"), html.indexOf("</html>"));
        DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new ByteArrayInputStream(body.getBytes(StandardCharsets.UTF_8)));
    }

    @Test
    void barsOfAHistogramAreAsHighAsTheirShares() {
        NumberRange range =
                comparison.layers().get(3).activations().orElseThrow().inFp32();
        String svg = ExponentChart.svg("x", Optional.empty(), range);
        double sum = 0;
        double highest = 0;
        Matcher bars =
                Pattern.compile("class=\"bar\"[^>]* height=\"([0-9.]+)\"").matcher(svg);
        int count = 0;
        while (bars.find()) {
            double height = Double.parseDouble(bars.group(1));
            sum += height;
            highest = Math.max(highest, height);
            count++;
        }
        assertEquals(range.exponents().size(), count);
        long largest = range.exponents().values().stream().max(Long::compare).orElseThrow();
        long all =
                range.exponents().values().stream().mapToLong(Long::longValue).sum();
        assertEquals((double) largest / all, highest / sum, 0.02);
    }
}
