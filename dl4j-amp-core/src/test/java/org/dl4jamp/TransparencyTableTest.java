package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Calls every public method of DL4J's networks on a stock network and on one in mixed precision, and compares what it
 * returns or throws and what the network is afterwards: parameters, updater state, score, counters, output, and how it
 * goes on training. What differs has to be in {@link Differences}, and what is there has to differ.
 *
 * <p>{@code docs/transparency.md} is the table of it. To write it anew: {@code mvn -Plong -pl dl4j-amp-core -am test
 * -Dtest=TransparencyTableTest -Ddl4jamp.transparency.write=true}.
 */
@Tag("long")
class TransparencyTableTest {
    /** Of the numbers' norm: HALF has 11 bits, and Adam makes full steps of small gradients. */
    private static final double CLOSE = 0.02;

    private static final double EQUAL = 1e-6;
    private static final List<Class<?>> NETWORKS = List.of(MultiLayerNetwork.class, ComputationGraph.class);
    private static final Path DOCUMENT = Path.of("..", "docs", "transparency.md");

    @TempDir
    private Path folder;

    static Stream<Arguments> calls() {
        return NETWORKS.stream()
                .flatMap(type -> PublicCall.of(type).stream().map(call -> Arguments.of(type.getSimpleName(), call)));
    }

    @ParameterizedTest(name = "{0}.{1}")
    @MethodSource("calls")
    void isSameAsStockOrDiffersAsTheTableSays(String type, PublicCall call) throws IllegalAccessException {
        assumeTrue(
                isDl4jOfTheDocument() || !call.signature().equals("initGradientsView()"),
                "DL4J 1.0.0-M1.1 trains on wrongly after it, and mixed precision doesn't");
        boolean graph = type.equals(ComputationGraph.class.getSimpleName());
        boolean answered = false;
        Optional<String> inHalf = Optional.empty();
        Optional<String> inFloat = Optional.empty();
        for (boolean sequences : new boolean[] {false, true}) {
            Map<String, Object> stock = observed(call, graph, sequences, Optional.empty());
            answered |= !(stock.get("result") instanceof Thrown);
            Map<String, Object> half = observed(call, graph, sequences, Optional.of(Precision.HALF));
            inHalf = inHalf.or(() -> difference(stock, half, CLOSE));
            if (!sequences) {
                Map<String, Object> fp32 = observed(call, graph, sequences, Optional.of(Precision.FLOAT));
                inFloat = difference(stock, fp32, EQUAL);
            }
        }
        String signature = call.signature();
        String where = type + "." + signature + " in ";
        assertListed(Differences.of(type, signature).isPresent(), inHalf, where + "HALF");
        assertListed(Differences.inFloat(type, signature), inFloat, where + "FLOAT");
        assertEquals(Differences.throwsInStock(type, signature), !answered, "whether stock DL4J throws");
    }

    private static void assertListed(boolean listed, Optional<String> found, String where) {
        assertFalse(found.isPresent() && !listed, () -> where + " it differs, and isn't listed: " + found);
        // Other releases of DL4J may differ less than the one that the list is about.
        assertFalse(
                found.isEmpty() && listed && isDl4jOfTheDocument(),
                () -> where + " it doesn't differ (any more?), and is listed");
    }

    private static boolean isDl4jOfTheDocument() {
        return MultiLayerNetwork.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toString()
                .contains("1.0.0-M2.1");
    }

    private record Thrown(String type) {}

    private Map<String, Object> observed(
            PublicCall call, boolean graph, boolean sequences, Optional<Precision> precision)
            throws IllegalAccessException {
        Subject subject = Subject.of(graph, sequences);
        Optional<MixedPrecision> amp = precision.map(wanted -> enable(subject, wanted));
        subject.prepared();
        Nd4j.getRandom().setSeed(3);
        Map<String, Object> observations = new LinkedHashMap<>();
        Object result = call.on(subject, folder);
        if (call.method().getName().equals("memoryInfo")) {
            // How much memory there is and how much is in use changes all the time.
            result = ((String) result)
                    .replaceAll("[0-9.]+ ?([kKMGTPE]i?B|B)?", "#")
                    .replaceAll(" +", " ");
        }
        observations.put("result", result instanceof Throwable thrown ? picture(thrown) : Picture.of(result));
        observe("parameters", observations, () -> subject.network().params());
        observe("score", observations, () -> subject.network().score());
        observe("updater's state", observations, () -> updaterState(subject));
        observe("counts", observations, () -> counts(subject));
        observe("output", observations, () -> output(subject));
        if (sequences) {
            observe("state", observations, subject::stepInTime);
        }
        observe("next step", observations, () -> {
            subject.step();
            return subject.network().params();
        });
        amp.ifPresent(MixedPrecision::close);
        return observations;
    }

    private static MixedPrecision enable(Subject subject, Precision precision) {
        return subject.isGraph()
                ? MixedPrecision.enable(subject.graph(), Gradients.config(precision))
                : MixedPrecision.enable(subject.layers(), Gradients.config(precision));
    }

    private static void observe(String what, Map<String, Object> observations, Supplier<Object> value) {
        try {
            observations.put(what, Picture.of(value.get()));
        } catch (RuntimeException e) {
            observations.put(what, picture(e));
        }
    }

    private static Thrown picture(Throwable thrown) {
        return new Thrown(thrown.getClass().getName());
    }

    private static Object updaterState(Subject subject) {
        return subject.isGraph()
                ? subject.graph().getUpdater().getStateViewArray()
                : subject.layers().getUpdater().getStateViewArray();
    }

    private static Object counts(Subject subject) {
        return subject.isGraph()
                ? List.of(subject.graph().getIterationCount(), subject.graph().getEpochCount())
                : List.of(subject.layers().getIterationCount(), subject.layers().getEpochCount());
    }

    private static Object output(Subject subject) {
        return subject.isGraph()
                ? subject.graph().outputSingle(subject.features())
                : subject.layers().output(subject.features());
    }

    private static Optional<String> difference(Map<String, Object> stock, Map<String, Object> mixed, double tolerance) {
        return stock.keySet().stream()
                .flatMap(
                        what -> Picture.difference(stock.get(what), mixed.get(what), tolerance)
                                .map(text -> what + ": " + text)
                                .stream())
                .findFirst();
    }

    @Test
    void theDocumentIsTheTable() throws IOException {
        assumeTrue(isDl4jOfTheDocument(), "the document is about DL4J 1.0.0-M2.1");
        String text = document();
        if (Boolean.getBoolean("dl4jamp.transparency.write")) {
            Files.writeString(DOCUMENT, text);
        }
        assertEquals(text, Files.readString(DOCUMENT));
        for (Class<?> type : NETWORKS) {
            List<String> signatures =
                    PublicCall.of(type).stream().map(PublicCall::signature).toList();
            for (String listed : Differences.listed(type.getSimpleName())) {
                assertTrue(signatures.contains(listed), () -> type.getSimpleName() + " has no " + listed);
            }
        }
    }

    private static String document() {
        StringBuilder text = new StringBuilder(Differences.INTRODUCTION);
        text.append("\n## Model\n\nWhat both kinds of network have in common.\n\n| method | MultiLayerNetwork |"
                + " ComputationGraph |\n|---|---|---|\n");
        for (PublicCall call : PublicCall.of(Model.class)) {
            text.append("| `").append(call.signature()).append("` |");
            NETWORKS.forEach(type -> text.append(' ').append(row(type, call)).append(" |"));
            text.append('\n');
        }
        for (Class<?> type : NETWORKS) {
            text.append("\n## ")
                    .append(type.getSimpleName())
                    .append("\n\n| method | in mixed precision |\n|---|---|\n");
            for (PublicCall call : PublicCall.of(type)) {
                text.append("| `")
                        .append(call.signature())
                        .append("` | ")
                        .append(row(type, call))
                        .append(" |\n");
            }
        }
        return text.toString();
    }

    private static String row(Class<?> type, PublicCall call) {
        return Differences.of(type.getSimpleName(), call.signature())
                .orElse(Differences.throwsInStock(type.getSimpleName(), call.signature()) ? "same: throws" : "same");
    }
}
