package org.dl4jamp.randomized;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.InputPreProcessor;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.preprocessor.RnnToFeedForwardPreProcessor;
import org.dl4jamp.randomized.Heads.Head;
import org.dl4jamp.randomized.Part.Family;
import org.dl4jamp.randomized.Part.LayerPart;
import org.dl4jamp.randomized.Scenario.Gene;

/** Makes networks of scenarios. */
final class NetworkAssembly {
    /** How long sequences are. */
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
                .seed(scenario.seed() % 1000)
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
                        // Behind DL4J's convolutions any type says NDHWC.
                        draw.chance(0.8) ? Convolution3D.DataFormat.NDHWC : Convolution3D.DataFormat.NCDHW,
                        draw.between(2, 4),
                        draw.between(2, 4),
                        draw.between(2, 4),
                        draw.between(1, 2));
        };
    }

    /** A layer with the types in front of it, behind its preprocessor, and behind it. */
    record Fitted(Layer layer, InputPreProcessor preProcessor, InputType output) {
        /** Returns whether vectors behind it are those of time steps, if those in front of it are or aren't. */
        boolean perStep(boolean before) {
            return output.getType() == InputType.Type.FF
                    && (before || preProcessor instanceof RnnToFeedForwardPreProcessor);
        }
    }

    /** Tells the layer of a gene for activations of a type, empty if it doesn't fit there. */
    Optional<Fitted> fit(LayerPart part, long seed, InputType type) {
        if (!part.families().contains(Family.of(type)) || !fits(part.name(), type)) {
            return Optional.empty();
        }
        boolean draws = part.name().startsWith("dropout") && !scenario.has(Option.DROPOUT);
        // Running statistics and those of a batch aren't those of its parts.
        boolean looksAtBatches = part.name().startsWith("batch") && scenario.has(Option.ACCUMULATION);
        if (draws || looksAtBatches) {
            return Optional.empty();
        }
        return create(part, seed, type);
    }

    private static boolean fits(String name, InputType type) {
        if (name.equals("separable")) {
            // Of one channel ND4J leaves the weights of the second product out.
            return type instanceof InputType.InputTypeConvolutional images && images.getChannels() > 1;
        }
        if (!name.equals("spaceToDepth")) {
            return true;
        }
        return type instanceof InputType.InputTypeConvolutional images
                && images.getHeight() % 2 == 0
                && images.getWidth() % 2 == 0;
    }

    private Optional<Fitted> create(LayerPart part, long seed, InputType type) {
        Draw own = new Draw(seed);
        return fit(() -> new LayerOptions(scenario, own).apply(part.maker().make(own, type), type), type);
    }

    /** Tells what DL4J would: its own preprocessors and types; whatever it rejects doesn't fit. */
    static Optional<Fitted> fit(java.util.function.Supplier<Layer> maker, InputType type) {
        try {
            Layer layer = maker.get();
            InputPreProcessor preProcessor = layer.getPreProcessorForInputType(type);
            InputType input = preProcessor == null ? type : preProcessor.getOutputType(type);
            layer.setNIn(input, true);
            InputType output = withSteps(layer.getOutputType(0, withSteps(input)));
            return isReasonable(output) ? Optional.of(new Fitted(layer, preProcessor, output)) : Optional.empty();
        } catch (RuntimeException e) {
            return Optional.empty();
        }
    }

    /** Behind DL4J's preprocessor to sequences the number of steps is unknown. */
    private static InputType withSteps(InputType type) {
        return type instanceof InputType.InputTypeRecurrent steps && steps.getTimeSeriesLength() < 0
                ? InputType.recurrent(steps.getSize(), STEPS, steps.getFormat())
                : type;
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
        return create(part, draw.seed(), type).orElseThrow();
    }

    LayerPart embedding() {
        return draw.from(LayersOfVectors.EMBEDDINGS);
    }

    /** Returns whether a part takes one row for one example. */
    static boolean changesRows(Part part) {
        return part.name().equals("repeatVector");
    }

    Head head(InputType type, boolean perStep) {
        return Heads.make(draw, perStep ? InputType.recurrent(1, STEPS) : type, !scenario.has(Option.ACCUMULATION));
    }

    LayerOptions options() {
        return new LayerOptions(scenario, draw);
    }

    private NetworkDescription layers() {
        InputType input = input(scenario.input());
        NeuralNetConfiguration.ListBuilder list = global().list();
        InputType type = input;
        boolean perStep = false;
        if (scenario.input() == Family.INDICES) {
            Fitted first = embedding(embedding(), type);
            list.layer(first.layer());
            type = first.output();
        }
        for (Gene gene : scenario.parts()) {
            Optional<Fitted> next =
                    gene.part() instanceof LayerPart part ? fit(part, gene.seed(), type) : Optional.empty();
            if (next.isPresent() && !(perStep && changesRows(gene.part()))) {
                list.layer(next.get().layer());
                perStep = next.get().perStep(perStep);
                type = next.get().output();
            }
        }
        InputType before = type;
        Head head = head(type, perStep);
        Fitted last = fit(() -> options().apply(head.layer(), before), type)
                .orElseThrow(() -> new IllegalStateException(head + " doesn't take " + before));
        list.layer(last.layer());
        list.setInputType(input);
        if (scenario.has(Option.TRUNCATED) && last.output().getType() == InputType.Type.RNN) {
            list.backpropType(BackpropType.TruncatedBPTT).tBPTTLength(draw.between(2, 4));
        }
        MultiLayerConfiguration configuration = list.build();
        return new NetworkDescription(
                configuration.toJson(),
                false,
                List.of(new NetworkDescription.Input(
                        input, scenario.input() == Family.INDICES ? indices(configuration) : 0)),
                List.of(new NetworkDescription.Output(last.output(), head.labels())));
    }

    private static int indices(MultiLayerConfiguration configuration) {
        return configuration.getConf(0).getLayer().toString().contains("EmbeddingSequence") ? STEPS : 1;
    }
}
