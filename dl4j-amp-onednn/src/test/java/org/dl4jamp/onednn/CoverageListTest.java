package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipFile;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.conf.layers.recurrent.TimeDistributed;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.deeplearning4j.nn.modelimport.keras.layers.TFOpLayer;
import org.deeplearning4j.zoo.ZooModel;
import org.dl4jamp.onednn.attention.AttentionLayers;
import org.dl4jamp.onednn.vertex.VertexCoverage;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * The lists of layers and vertices in {@code docs/internals/onednn.md}, against the engine and against DL4J's jars. A
 * class more in DL4J fails here, until it has a kernel or a reason.
 */
class CoverageListTest {
    private static final Path DOCUMENT = Path.of("..", "docs", "internals", "onednn.md");

    /** A class of each of DL4J's jars that may have layers or vertices. */
    private static final List<Class<?>> JARS = List.of(DenseLayer.class, TFOpLayer.class, ZooModel.class);

    /** Those that aren't abstract, and those abstract ones that users extend. */
    private static final Set<String> CLASSES = new TreeSet<>();

    @BeforeAll
    static void findTheClassesOfDl4j() throws Exception {
        for (Class<?> one : JARS) {
            for (Class<?> type : classesBeside(one)) {
                boolean counts = Layer.class.isAssignableFrom(type) || GraphVertex.class.isAssignableFrom(type);
                if (counts && (!Modifier.isAbstract(type.getModifiers()) || isForUsers(type))) {
                    assertTrue(CLASSES.add(type.getSimpleName()), "two classes " + type.getSimpleName());
                }
            }
        }
        assertTrue(CLASSES.size() > 90, "the scan found only " + CLASSES);
    }

    private static boolean isForUsers(Class<?> type) {
        return type.getSimpleName().startsWith("SameDiff");
    }

    private static List<Class<?>> classesBeside(Class<?> one) throws Exception {
        Path jar =
                Path.of(one.getProtectionDomain().getCodeSource().getLocation().toURI());
        List<Class<?>> classes = new ArrayList<>();
        try (ZipFile zip = new ZipFile(jar.toFile())) {
            List<String> names = zip.stream()
                    .map(entry -> entry.getName())
                    .filter(name -> name.startsWith("org/deeplearning4j/") && name.endsWith(".class"))
                    .map(name -> name.replace('/', '.').substring(0, name.length() - ".class".length()))
                    .toList();
            for (String name : names) {
                classes.add(Class.forName(name, false, one.getClassLoader()));
            }
        }
        return classes;
    }

    /** Names in code of the first column of the table in a section, of those that are classes of layers or vertices. */
    private static Set<String> listed(String heading) throws IOException {
        List<String> rows = Files.readAllLines(DOCUMENT).stream()
                .dropWhile(line -> !line.equals(heading))
                .skip(1)
                .takeWhile(line -> !line.matches("##+ .*"))
                .filter(line -> line.startsWith("| "))
                .toList();
        Set<String> names = new TreeSet<>();
        for (String row : rows) {
            Pattern.compile("`(\\w+)`")
                    .matcher(row.split("(?<!^)\\|", -1)[0])
                    .results()
                    .map((MatchResult match) -> match.group(1))
                    .forEach(name -> assertTrue(names.add(name), heading + " has " + name + " twice"));
        }
        return names;
    }

    /** Names what is missing in the lists and what they have too much, rather than all classes twice. */
    private static void assertSame(Set<String> classes, Set<String> listed) {
        Set<String> missing = new TreeSet<>(classes);
        missing.removeAll(listed);
        Set<String> surplus = new TreeSet<>(listed);
        surplus.removeAll(classes);
        assertEquals("missing [], surplus []", "missing " + missing + ", surplus " + surplus);
    }

    @Test
    void theTableOfLayersHasThoseThatHaveKernels() throws IOException {
        Set<String> computed = Stream.concat(Coverage.types(), VertexCoverage.types())
                .map(Class::getSimpleName)
                .collect(Collectors.toCollection(TreeSet::new));
        assertTrue(AttentionLayers.isAttention(new AttentionVertex()));
        computed.add("AttentionVertex");

        assertSame(computed, listed("## Layers"));
    }

    @Test
    void everyOtherClassOfDl4jIsLeftToItForAReason() throws IOException {
        Set<String> decided = new TreeSet<>(listed("## Layers"));
        for (String list : List.of("### Wrappers", "### What stays with DL4J")) {
            for (String name : listed(list)) {
                assertTrue(decided.add(name), name + " is in two lists");
            }
        }

        assertSame(CLASSES, decided);
    }

    @Test
    void whatIsInsideOfEveryWrapperIsTheEngines() throws IOException {
        Layer dense = new DenseLayer.Builder().nIn(2).nOut(2).build();
        Layer lstm = new LSTM.Builder().nIn(2).nOut(2).build();
        List<Layer> wrappers = List.of(
                new FrozenLayer(dense),
                new FrozenLayerWithBackprop(dense),
                new LastTimeStep(lstm),
                new MaskZeroLayer(lstm, 0),
                new TimeDistributed(dense));

        for (Layer wrapper : wrappers) {
            assertEquals(Optional.empty(), Coverage.without(wrapper, Precision.FLOAT), wrapper::toString);
        }
        Set<String> names = wrappers.stream()
                .map(wrapper -> wrapper.getClass().getSimpleName())
                .collect(Collectors.toCollection(TreeSet::new));
        names.add("LayerVertex");
        assertEquals(names, listed("### Wrappers"));
    }

    @Test
    void everyRowOfWhatStaysHasAReason() throws IOException {
        List<String> rows = Files.readAllLines(DOCUMENT).stream()
                .dropWhile(line -> !line.equals("### What stays with DL4J"))
                .skip(1)
                .takeWhile(line -> !line.startsWith("##"))
                .filter(line -> line.startsWith("| `"))
                .toList();
        assertEquals(
                List.of(),
                rows.stream()
                        .filter(row -> row.split("\\|", -1)[2].strip().split(" ", -1).length < 4)
                        .toList());
        assertTrue(rows.size() > 3, rows::toString);
    }
}
