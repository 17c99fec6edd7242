package org.dl4jamp.randomized;

import java.util.Set;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.dl4jamp.randomized.Part.Family;

/** Layers and settings that stock DL4J can't train or run: networks with them aren't drawn. */
final class StockLimits {
    /** These compute as if their input had its channels in front of its steps. */
    private static final Set<String> CHANNELS_FIRST_ONLY = Set.of(
            "upsampling1d",
            "zeroPadding1d",
            "cropping1d",
            "subsampling1d",
            "locallyConnected1d",
            "selfAttention",
            "recurrentAttention",
            "sameDiffOfSequences");

    /** These return more or fewer steps, and leave the mask as it is, or have no rule for masks at all. */
    private static final Set<String> WITHOUT_MASKS = Set.of(
            "upsampling1d", "zeroPadding1d", "cropping1d", "locallyConnected1d", "variationalAutoencoder", "prelu");

    /**
     * These don't carry their state from one segment to the next, or have other steps behind them. The mask of zeros is
     * that of an earlier batch there.
     */
    private static final Set<String> NOT_TRUNCATED = Set.of(
            "gravesBidirectionalLstm",
            "bidirectional",
            "maskZero",
            "convolution1d",
            "subsampling1d",
            "upsampling1d",
            "zeroPadding1d",
            "cropping1d",
            "locallyConnected1d",
            "selfAttention",
            "recurrentAttention",
            "repeatVector",
            "prelu");

    private StockLimits() {}

    /**
     * Returns whether stock DL4J can compute a layer there.
     *
     * @param first whether it's the first layer of a MultiLayerNetwork
     */
    static boolean allow(String name, InputType type, Scenario scenario, boolean first) {
        if (scenario.has(Option.MASKS) && WITHOUT_MASKS.contains(name)) {
            return false;
        }
        // It orders rows by example and their masks by time: an example has another's mask, and so other ones in a
        // micro-batch than in the whole batch.
        if (scenario.has(Option.MASKS) && scenario.makesOtherSteps() && name.equals("timeDistributed")) {
            return false;
        }
        if (scenario.truncates() && NOT_TRUNCATED.contains(name)) {
            return false;
        }
        // ND4J throws for one example, and not for the whole batch that micro-batches make.
        if (name.equals("sameDiffLinear") && scenario.makesOtherSteps()) {
            return false;
        }
        // ND4J refuses 64 times as many numbers as there are slopes. Vectors of sequences have a row for each step.
        if (name.equals("prelu") && Family.of(type) == Family.VECTORS && scenario.input() != Family.VECTORS) {
            return false;
        }
        // It carries the last channel of all steps to the next segment, and not all channels of the last step.
        if (scenario.truncates() && scenario.has(Option.CHANNELS_LAST) && name.equals("simpleRnn")) {
            return false;
        }
        // Its input has as many numbers as its configuration says, which sequences haven't in each batch.
        if (name.equals("capsules") && scenario.input() != Family.IMAGES) {
            return false;
        }
        // They return a view of the features, or overwrite them, outside the workspace where DL4J expects it.
        boolean leavesWorkspace = name.equals("cropping") || name.equals("cropping3d") || name.equals("prelu");
        if (first && leavesWorkspace) {
            return false;
        }
        // Frozen, it writes over the features, which the next epoch has, too.
        if (scenario.has(Option.FROZEN) && name.equals("activation") && (first || scenario.graph())) {
            return false;
        }
        // Nothing but a graph's vertices makes one example of several again.
        if (name.equals("spaceToBatch") && !scenario.graph()) {
            return false;
        }
        if (type instanceof InputType.InputTypeConvolutional images) {
            return allowImages(name, images, scenario);
        }
        if (type instanceof InputType.InputTypeConvolutionalFlat flat) {
            return allowImages(name, (InputType.InputTypeConvolutional) flat.getUnflattenedType(), scenario);
        }
        if (type instanceof InputType.InputTypeConvolutional3D volumes) {
            // They pad and crop as if the channels were in front.
            boolean channelsFirstOnly = name.equals("zeroPadding3d") || name.equals("cropping3d");
            return !channelsFirstOnly || volumes.getDataFormat() == Convolution3D.DataFormat.NCDHW;
        }
        return !(type instanceof InputType.InputTypeRecurrent sequence)
                || sequence.getFormat() == RNNFormat.NCW
                || !CHANNELS_FIRST_ONLY.contains(name);
    }

    private static boolean allowImages(String name, InputType.InputTypeConvolutional images, Scenario scenario) {
        return switch (name) {
            // Of one channel ND4J leaves the weights of the second product out.
            case "separable" -> images.getChannels() > 1;
            // Of one channel ND4J throws for one example, and not for the whole batch that micro-batches make.
            case "depthwise", "locallyConnected" -> images.getChannels() > 1 || !scenario.makesOtherSteps();
            // It takes rows for channels.
            case "primaryCapsules" -> images.getFormat() == CNN2DFormat.NCHW;
            case "spaceToDepth" -> images.getHeight() % 2 == 0 && images.getWidth() % 2 == 0;
            // Half of its window has to be less than the channels.
            case "localResponseNormalization" -> images.getChannels() > 1;
            default -> true;
        };
    }
}
