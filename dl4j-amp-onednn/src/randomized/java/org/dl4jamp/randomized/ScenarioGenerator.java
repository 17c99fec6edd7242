package org.dl4jamp.randomized;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.randomized.Part.Family;
import org.dl4jamp.randomized.Part.LayerPart;
import org.dl4jamp.randomized.Scenario.Gene;
import org.dl4jamp.randomized.Scenario.Step;
import org.nd4j.linalg.activations.impl.ActivationIdentity;

/** jqwik's generators of scenarios. */
final class ScenarioGenerator {
    private static final List<LayerPart> LAYERS = Stream.of(
                    LayersOfVectors.ALL,
                    LayersOfSequences.ALL,
                    LayersOfImages.ALL,
                    LayersOfVolumes.ALL,
                    LayersOfUsers.ALL)
            .flatMap(List::stream)
            .toList();

    private ScenarioGenerator() {}

    static Arbitrary<Scenario> scenarios() {
        // Without shrinking of seeds: another seed is another layer, and not a smaller one.
        Arbitrary<Long> seeds =
                Arbitraries.longs().between(1, Long.MAX_VALUE / 2).dontShrink();
        Arbitrary<Set<Option>> options = Arbitraries.of(KnownDifferences.comparable())
                .set()
                .ofMinSize(0)
                .ofMaxSize(4)
                .map(Option::compatible);
        return Combinators.combine(
                        Arbitraries.of(false, true),
                        Arbitraries.of(Family.class),
                        Arbitraries.of(Updaters.class),
                        options)
                .flatAs((graph, input, updater, chosen) -> Combinators.combine(
                                genes(input, graph), steps(chosen), seeds)
                        .as((parts, calls, seed) -> new Scenario(graph, input, updater, chosen, parts, calls, seed)));
    }

    private static Arbitrary<List<Gene>> genes(Family input, boolean graph) {
        List<Part> parts = new ArrayList<>();
        for (LayerPart layer : LAYERS) {
            // Of families that no layer leads back to there would be nothing.
            boolean capsules = input == Family.IMAGES && layer.name().startsWith("capsule");
            if (capsules || !Collections.disjoint(layer.families(), reachable(input))) {
                parts.add(layer);
            }
            // Layers of SameDiff are slow in stock DL4J.
            boolean slow = layer.name().endsWith("ttention")
                    || layer.name().startsWith("locally")
                    || layer.name().startsWith("sameDiff")
                    || layer.name().startsWith("capsule");
            if (layer.families().contains(input) && !slow) {
                parts.addAll(Collections.nCopies(4, layer));
            }
        }
        if (graph) {
            parts.addAll(Vertices.ALL);
            parts.addAll(Vertices.ALL);
        }
        return Combinators.combine(
                        Arbitraries.of(parts),
                        Arbitraries.longs().between(1, Long.MAX_VALUE / 2).dontShrink())
                .as(Gene::new)
                .list()
                .ofMinSize(1)
                .ofMaxSize(graph ? 16 : 10)
                .map(genes ->
                        genes.stream().flatMap(ScenarioGenerator::withCapsules).toList());
    }

    /** Routes most primary capsules and takes lengths: layers that are drawn one by one seldom make such a network. */
    private static Stream<Gene> withCapsules(Gene gene) {
        return gene.part().name().equals("primaryCapsules") && gene.seed() % 4 > 0
                ? Stream.of(
                        gene,
                        new Gene(layer("capsules"), gene.seed() + 1),
                        new Gene(layer("capsuleStrength"), gene.seed() + 2))
                : Stream.of(gene);
    }

    private static LayerPart layer(String name) {
        return LAYERS.stream()
                .filter(layer -> layer.name().equals(name))
                .findAny()
                .orElseThrow();
    }

    /**
     * Returns a scenario whose network begins with layers that inference computes at once: engines repeat the passes of
     * such networks only, and layers that are drawn one by one hardly ever make one.
     */
    static Scenario beginningWithAGroup(Scenario drawn) {
        String product = drawn.input() == Family.IMAGES ? "convolution" : "dense";
        List<Gene> parts = new ArrayList<>(List.of(
                new Gene(withoutFunction(layer(product)), drawn.seed() + 1),
                new Gene(layer("batchNormalization"), drawn.seed() + 2)));
        if (drawn.seed() % 3 == 0) {
            parts.add(new Gene(layer("activation"), drawn.seed() + 3));
        }
        // Behind the group it has to be the engine that reads its result.
        parts.add(new Gene(layer(product), drawn.seed() + 4));
        parts.addAll(drawn.parts());
        return new Scenario(
                drawn.graph(), drawn.input(), drawn.updater(), drawn.options(), parts, drawn.calls(), drawn.seed());
    }

    private static LayerPart withoutFunction(LayerPart part) {
        return new LayerPart(part.name(), part.families(), (draw, type) -> {
            Layer layer = part.maker().make(draw, type);
            ((BaseLayer) layer).setActivationFn(new ActivationIdentity());
            return layer;
        });
    }

    private static List<Family> reachable(Family input) {
        return switch (input) {
            case INDICES, VECTORS, SEQUENCES -> List.of(Family.VECTORS, Family.SEQUENCES);
            default -> List.of(input, Family.VECTORS);
        };
    }

    private static Arbitrary<List<Step>> steps(Set<Option> options) {
        List<Call> calls = Arrays.stream(Call.values())
                .filter(call -> call.suits(options))
                .flatMap(call -> Collections.nCopies(call.weight(), call).stream())
                .toList();
        return Combinators.combine(
                        Arbitraries.of(calls),
                        Arbitraries.longs().between(1, Long.MAX_VALUE / 2).dontShrink())
                .as(Step::new)
                .list()
                .ofMinSize(1)
                .ofMaxSize(8);
    }
}
