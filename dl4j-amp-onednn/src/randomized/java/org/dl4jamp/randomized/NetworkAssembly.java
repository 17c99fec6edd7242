package org.dl4jamp.randomized;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.InputPreProcessor;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.SpaceToBatchLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.preprocessor.RnnToFeedForwardPreProcessor;
import org.dl4jamp.randomized.Heads.Head;
import org.dl4jamp.randomized.Part.Family;
import org.dl4jamp.randomized.Part.LayerPart;
import org.dl4jamp.randomized.Scenario.Gene;

/** Makes networks of scenarios. */
final class NetworkAssembly {
    /** The length of sequences. */
    static final int STEPS = 5;

    private static final long MOST_NUMBERS = 500;

    private final Scenario scenario;
    private final Draw draw;

    private NetworkAssembly(Scenario scenario) {
        this.scenario = scenario;
        this.draw = new Draw(scenario.seed());
    }

    /** Returns the network of a scenario. */
    static NetworkDescription of(Scenario scenario) {
        NetworkAssembly assembly = new NetworkAssembly(scenario);
        return scenario.graph() ? new GraphAssembly(scenario, assembly).describe() : assembly.layers();
    }

    NeuralNetConfiguration.Builder global() {
        NeuralNetConfiguration.Builder builder = new NeuralNetConfiguration.Builder()
                // Zero is no seed in DL4J: weights would be others in each network.
                .seed(Math.max(1, scenario.seed() % 1000))
                .updater(scenario.updater().make(draw, scenario.has(Option.SCHEDULE)));
        if (scenario.has(Option.NO_MINIBATCH)) {
            builder.miniBatch(false);
        }
        if (scenario.has(Option.NO_WORKSPACES)) {
            builder.trainingWorkspaceMode(WorkspaceMode.NONE).inferenceWorkspaceMode(WorkspaceMode.NONE);
        }
        return builder;
    }

    InputType input(Family family) {
        boolean last = scenario.has(Option.CHANNELS_LAST);
        return switch (family) {
            case INDICES -> InputType.feedForward(LayersOfVectors.ROWS);
            case VECTORS -> InputType.feedForward(draw.between(2, 6));
            case SEQUENCES -> InputType.recurrent(draw.between(2, 4), STEPS, last ? RNNFormat.NWC : RNNFormat.NCW);
            case IMAGES ->
                !last && draw.chance(0.15)
                        ? InputType.convolutionalFlat(draw.between(3, 5), draw.between(3, 5), draw.between(1, 3))
                        : InputType.convolutional(
                                draw.between(3, 6),
                                draw.between(3, 6),
                                draw.between(1, 4),
                                last ? CNN2DFormat.NHWC : CNN2DFormat.NCHW);
            case VOLUMES ->
                InputType.convolutional3D(
                        // Behind DL4J's convolutions any type is NDHWC.
                        draw.chance(0.8) ? Convolution3D.DataFormat.NDHWC : Convolution3D.DataFormat.NCDHW,
                        draw.between(2, 4),
                        draw.between(2, 4),
                        draw.between(2, 4),
                        draw.between(1, 2));
        };
    }

    /**
     * A layer with its preprocessor, and the type behind it.
     *
     * @param typed whether that is DL4J's type, too
     */
    record Fitted(Layer layer, InputPreProcessor preProcessor, InputType output, boolean typed) {
        /** Returns how many time steps of an example are vectors behind it, 0 if a vector is that of an example. */
        int steps(InputType before, int stepsBefore) {
            if (output.getType() != InputType.Type.FF) {
                return 0;
            }
            return preProcessor instanceof RnnToFeedForwardPreProcessor
                            && before instanceof InputType.InputTypeRecurrent sequence
                    ? (int) sequence.getTimeSeriesLength()
                    : stepsBefore;
        }

        /** Returns whether there is something to train. */
        boolean trains() {
            return !(layer instanceof FrozenLayer)
                    && !(layer instanceof FrozenLayerWithBackprop)
                    && layer.initializer().numParams(layer) > 0;
        }
    }

    /** Returns the layer of a gene for activations of a type; empty if it doesn't fit there. */
    Optional<Fitted> fit(LayerPart part, long seed, InputType type, int steps, boolean first) {
        if (!part.families().contains(Family.of(type)) || !StockLimits.allow(part.name(), type, scenario, first)) {
            return Optional.empty();
        }
        boolean draws = part.name().startsWith("dropout") && !scenario.has(Option.DROPOUT);
        // Running statistics and those of a batch aren't those of its parts.
        boolean looksAtBatches = part.name().startsWith("batch") && scenario.has(Option.ACCUMULATION);
        if (draws || looksAtBatches) {
            return Optional.empty();
        }
        return create(part, seed, type, steps);
    }

    private Optional<Fitted> create(LayerPart part, long seed, InputType type, int steps) {
        Draw own = new Draw(seed);
        return fit(() -> new LayerOptions(scenario, own).apply(part.maker().make(own, type), type), type, steps);
    }

    /** Returns a layer with DL4J's own preprocessor; whatever DL4J rejects doesn't fit. */
    static Optional<Fitted> fit(Supplier<Layer> maker, InputType type, int steps) {
        try {
            Layer layer = maker.get();
            InputPreProcessor preProcessor = layer.getPreProcessorForInputType(type);
            int number = type instanceof InputType.InputTypeRecurrent sequence
                    ? (int) sequence.getTimeSeriesLength()
                    : steps;
            InputType input =
                    TrueTypes.withSteps(preProcessor == null ? type : preProcessor.getOutputType(type), number);
            layer.setNIn(input, true);
            InputType claimed = layer.getOutputType(0, input);
            InputType output = TrueTypes.behind(NetworkDescription.inner(layer), input, claimed, number);
            boolean typed = output.equals(TrueTypes.withSteps(claimed, number));
            return isReasonable(output)
                    ? Optional.of(new Fitted(layer, preProcessor, output, typed))
                    : Optional.empty();
        } catch (RuntimeException e) {
            return Optional.empty();
        }
    }

    static boolean isReasonable(InputType type) {
        for (long extent : Batches.shape(type, 1)) {
            if (extent < 1) {
                return false;
            }
        }
        return type.arrayElementsPerExample() <= MOST_NUMBERS;
    }

    Fitted embedding(LayerPart part, InputType type) {
        return create(part, draw.seed(), type, STEPS).orElseThrow();
    }

    LayerPart embedding() {
        return draw.from(LayersOfVectors.EMBEDDINGS);
    }

    /** Returns how many examples a layer makes of one. */
    static int copiesOf(Layer layer) {
        return NetworkDescription.inner(layer) instanceof SpaceToBatchLayer ? 4 : 1;
    }

    /** Returns whether a part takes one row for one example. */
    static boolean changesRows(Part part) {
        return part.name().equals("repeatVector");
    }

    /**
     * Draws an output or loss layer.
     *
     * @param parameters whether it needs some
     */
    Head head(InputType type, int steps, boolean parameters) {
        if (scenario.has(Option.EXTERNAL_ERRORS)) {
            // A sequence again where vectors are those of time steps.
            return Heads.withoutLoss(draw, steps > 0 ? InputType.recurrent(1, steps) : type);
        }
        InputType labelled = steps > 0 ? InputType.recurrent(1, steps) : type;
        return Heads.make(draw, labelled, scenario, parameters);
    }

    /** Gives an output or loss layer its settings. DL4J can't train with frozen ones. */
    Optional<Fitted> fitHead(Head head, InputType type, int steps) {
        return fit(() -> new LayerOptions(scenario, draw).applyToHead(head.layer(), type), type, steps);
    }

    private NetworkDescription layers() {
        InputType input = input(scenario.input());
        InputType type = input;
        int steps = 0;
        List<Fitted> fitted = new ArrayList<>();
        if (scenario.input() == Family.INDICES) {
            fitted.add(embedding(embedding(), type));
            type = fitted.get(0).output();
        }
        for (Gene gene : scenario.parts()) {
            Optional<Fitted> next = gene.part() instanceof LayerPart part
                    ? fit(part, gene.seed(), type, steps, fitted.isEmpty())
                    : Optional.empty();
            if (next.isPresent() && !(steps > 0 && changesRows(gene.part()))) {
                steps = next.get().steps(type, steps);
                type = next.get().output();
                fitted.add(next.get());
            }
        }
        InputType before = type;
        Head head = head(type, steps, fitted.stream().noneMatch(Fitted::trains));
        Fitted last = fitHead(head, type, steps)
                .orElseThrow(() -> new IllegalStateException(head + " doesn't take " + before));
        fitted.add(last);
        MultiLayerConfiguration configuration = build(fitted, input);
        return new NetworkDescription(
                configuration.toJson(),
                false,
                List.of(new NetworkDescription.Input(
                        input, scenario.input() == Family.INDICES ? indices(configuration) : 0)),
                List.of(new NetworkDescription.Output(last.output(), head.labels())));
    }

    private MultiLayerConfiguration build(List<Fitted> fitted, InputType input) {
        NeuralNetConfiguration.ListBuilder list = global().list();
        fitted.forEach(next -> list.layer(next.layer()));
        if (fitted.stream().allMatch(Fitted::typed)) {
            list.setInputType(input);
        } else {
            for (int i = 0; i < fitted.size(); i++) {
                if (fitted.get(i).preProcessor() != null) {
                    list.inputPreProcessor(i, fitted.get(i).preProcessor());
                }
            }
        }
        boolean sequences = fitted.get(fitted.size() - 1).output().getType() == InputType.Type.RNN;
        if (scenario.truncates() && sequences) {
            list.backpropType(BackpropType.TruncatedBPTT).tBPTTLength(draw.between(2, 4));
        }
        return list.build();
    }

    private static int indices(MultiLayerConfiguration configuration) {
        return NetworkDescription.inner(configuration.getConf(0).getLayer()) instanceof EmbeddingSequenceLayer
                ? STEPS
                : 1;
    }
}
