package org.dl4jamp.randomized;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.AutoEncoder;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.randomized.Heads.Head;
import org.dl4jamp.randomized.Part.Family;
import org.dl4jamp.randomized.Part.LayerPart;
import org.dl4jamp.randomized.Part.Node;
import org.dl4jamp.randomized.Part.VertexPart;
import org.dl4jamp.randomized.Part.Wired;
import org.dl4jamp.randomized.Scenario.Gene;

/** Makes graphs of scenarios. */
final class GraphAssembly {
    private final Scenario scenario;
    private final NetworkAssembly assembly;
    private final Draw draw;
    private final List<NetworkDescription.Input> inputs = new ArrayList<>();
    private final List<String> inputNames = new ArrayList<>();
    /** Nodes that others may take. */
    private final List<Node> nodes = new ArrayList<>();
    /** The nodes: layers or vertices, and their inputs. */
    private final Map<String, Object> contents = new LinkedHashMap<>();

    private final Map<String, List<String>> sources = new LinkedHashMap<>();

    GraphAssembly(Scenario scenario, NetworkAssembly assembly) {
        this.scenario = scenario;
        this.assembly = assembly;
        this.draw = new Draw(scenario.seed() ^ 7);
    }

    NetworkDescription describe() {
        addInput(scenario.input());
        if (draw.chance(0.3)) {
            addInput(draw.chance(0.5) ? scenario.input() : Family.VECTORS);
        }
        scenario.parts().forEach(this::add);
        return finish();
    }

    private void addInput(Family family) {
        String name = "in" + inputs.size();
        InputType type = assembly.input(family);
        inputNames.add(name);
        if (family == Family.INDICES) {
            LayerPart part = assembly.embedding();
            inputs.add(new NetworkDescription.Input(type, part.name().equals("embedding") ? 1 : NetworkAssembly.STEPS));
            NetworkAssembly.Fitted fitted = assembly.embedding(part, type);
            put(new Node("embedding" + inputs.size(), fitted.output(), 1, 0), fitted, List.of(name));
        } else {
            inputs.add(new NetworkDescription.Input(type, 0));
            if (type.getType() == InputType.Type.CNNFlat) {
                // As if it was an image: DL4J has a preprocessor for layers, and none for vertices.
                inputs.set(inputs.size() - 1, new NetworkDescription.Input(planes(type), 0));
            }
            nodes.add(new Node(name, inputs.get(inputs.size() - 1).type(), 1, 0));
        }
    }

    private static InputType planes(InputType type) {
        InputType.InputTypeConvolutionalFlat flat = (InputType.InputTypeConvolutionalFlat) type;
        return InputType.convolutional(flat.getHeight(), flat.getWidth(), flat.getDepth());
    }

    private void put(Node node, Object content, List<String> from) {
        contents.put(node.name(), content);
        sources.put(node.name(), from);
        nodes.add(node);
    }

    private void put(String name, NetworkAssembly.Fitted fitted, Node from) {
        int steps = fitted.steps(from.type(), from.steps());
        int copies = from.copies() * NetworkAssembly.copiesOf(fitted.layer());
        put(new Node(name, fitted.output(), copies, steps), fitted, List.of(from.name()));
    }

    private void add(Gene gene) {
        Draw own = new Draw(gene.seed() ^ 5);
        String name = gene.part().name() + contents.size();
        if (gene.part() instanceof LayerPart part) {
            List<Node> suitable = nodes.stream()
                    .filter(node -> part.families().contains(node.family()))
                    .filter(node -> !(node.steps() > 0 && NetworkAssembly.changesRows(part)))
                    .toList();
            if (part.name().equals("activation") || part.name().equals("prelu")) {
                addActivation(own, gene, part, suitable, name);
            } else if (!suitable.isEmpty()) {
                Node from = own.chance(0.6) ? suitable.get(suitable.size() - 1) : own.from(suitable);
                assembly.fit(part, gene.seed(), from.type(), from.steps(), false)
                        .ifPresent(fitted -> {
                            keepUnlessFeatures(fitted.layer(), from);
                            put(name, fitted, from);
                        });
            }
        } else if (gene.part() instanceof VertexPart part) {
            part.maker().make(own, nodes).ifPresent(wired -> put(name, wired));
        }
    }

    /**
     * Has nothing but features corrupted: an autoencoder draws its random numbers in the order of its input in memory,
     * which is another one in stock DL4J behind some layers, such as embeddings.
     */
    private void keepUnlessFeatures(Layer layer, Node from) {
        if (layer instanceof AutoEncoder code && !inputNames.contains(from.name())) {
            code.setCorruptionLevel(0);
        }
    }

    /** DL4J's activation and PReLU layers compute in place in inference: no other node may read their input. */
    private void addActivation(Draw own, Gene gene, LayerPart part, List<Node> suitable, String name) {
        List<Node> unread = suitable.stream()
                .filter(node -> !inputNames.contains(node.name()))
                .filter(node -> sources.values().stream().noneMatch(from -> from.contains(node.name())))
                .toList();
        if (!unread.isEmpty()) {
            Node from = own.chance(0.8) ? unread.get(unread.size() - 1) : own.from(unread);
            assembly.fit(part, gene.seed(), from.type(), from.steps(), false).ifPresent(fitted -> {
                put(name, fitted, from);
                nodes.remove(from);
            });
        }
    }

    private void put(String name, Wired wired) {
        InputType[] types = wired.inputs().stream().map(Node::type).toArray(InputType[]::new);
        typeOf(wired.vertex(), types).ifPresent(type -> {
            List<String> from = wired.inputs().stream().map(Node::name).toList();
            int steps =
                    type.getType() == InputType.Type.FF ? wired.inputs().get(0).steps() : 0;
            put(new Node(name, type, wired.copies(), steps), wired.vertex(), from);
        });
    }

    private static Optional<InputType> typeOf(GraphVertex vertex, InputType... types) {
        try {
            return Optional.of(vertex.getOutputType(0, types)).filter(NetworkAssembly::isReasonable);
        } catch (RuntimeException e) {
            return Optional.empty();
        }
    }

    private NetworkDescription finish() {
        List<Node> ends = nodes.stream().filter(node -> node.copies() == 1).toList();
        List<Node> chosen = new ArrayList<>(List.of(ends.get(ends.size() - 1)));
        if (draw.chance(0.25)) {
            Node other = draw.from(ends);
            if (!other.equals(chosen.get(0))) {
                chosen.add(other);
            }
        }
        List<NetworkDescription.Output> outputs = new ArrayList<>();
        List<String> names = new ArrayList<>();
        for (Node end : chosen) {
            Head head = assembly.head(end.type(), end.steps(), needsParameters(end));
            NetworkAssembly.Fitted fitted = assembly.fitHead(head, end.type(), end.steps())
                    .orElseThrow(() -> new IllegalStateException(head + " doesn't take " + end));
            String name = "out" + names.size();
            names.add(name);
            outputs.add(new NetworkDescription.Output(fitted.output(), head.labels()));
            contents.put(name, fitted);
            sources.put(name, List.of(end.name()));
        }
        Set<String> needed = ancestors(names);
        for (int i = inputNames.size() - 1; i >= 0; i--) {
            if (!needed.contains(inputNames.get(i))) {
                inputNames.remove(i);
                inputs.remove(i);
            }
        }
        return new NetworkDescription(build(names, needed), true, inputs, outputs);
    }

    /**
     * Returns whether an output has to have weights: if there are none in front of it, or if others read the array that
     * a loss layer overwrites.
     */
    private boolean needsParameters(Node end) {
        boolean isRead = sources.values().stream().anyMatch(from -> from.contains(end.name()));
        return isRead
                || ancestors(List.of(end.name())).stream()
                        .noneMatch(
                                name -> contents.get(name) instanceof NetworkAssembly.Fitted fitted && fitted.trains());
    }

    private String build(List<String> outputs, Set<String> needed) {
        // DL4J's own types would be wrong behind any other.
        boolean typed = needed.stream()
                .allMatch(name -> !(contents.get(name) instanceof NetworkAssembly.Fitted fitted) || fitted.typed());
        GraphBuilder builder = assembly.global().graphBuilder().addInputs(inputNames);
        contents.forEach((name, content) -> {
            if (!needed.contains(name)) {
                return;
            }
            String[] from = sources.get(name).toArray(String[]::new);
            if (content instanceof NetworkAssembly.Fitted fitted) {
                builder.addLayer(name, fitted.layer(), typed ? null : fitted.preProcessor(), from);
            } else {
                builder.addVertex(name, (GraphVertex) content, from);
            }
        });
        builder.setOutputs(outputs.toArray(String[]::new));
        if (typed) {
            builder.setInputTypes(
                    inputs.stream().map(NetworkDescription.Input::type).toArray(InputType[]::new));
        }
        return builder.build().toJson();
    }

    private Set<String> ancestors(List<String> outputs) {
        Set<String> needed = new HashSet<>();
        Deque<String> waiting = new ArrayDeque<>(outputs);
        while (!waiting.isEmpty()) {
            String name = waiting.pop();
            if (needed.add(name)) {
                waiting.addAll(sources.getOrDefault(name, List.of()));
            }
        }
        return needed;
    }
}
