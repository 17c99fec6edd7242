package org.dl4jamp.randomized;

import static org.dl4jamp.randomized.Part.Family.SEQUENCES;

import java.util.List;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.dropout.Dropout;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.conf.layers.CapsuleLayer;
import org.deeplearning4j.nn.conf.layers.CapsuleStrengthLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.GravesBidirectionalLSTM;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocallyConnected1D;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.Subsampling1DLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.Upsampling1D;
import org.deeplearning4j.nn.conf.layers.ZeroPadding1DLayer;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping1D;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.conf.layers.recurrent.TimeDistributed;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.dl4jamp.randomized.Part.LayerPart;
import org.nd4j.linalg.activations.Activation;

/**
 * Layers of sequences. Left out: LearnedSelfAttentionLayer. DL4J calls ND4J's scatter_update for it without the
 * arguments that tell the operation, the axes and the positions to write to. libnd4j's helper reads these beyond the
 * end of an empty list: it throws, or may write anywhere, and so a later crash of the JVM can't be excluded.
 */
final class LayersOfSequences {
    static final List<LayerPart> ALL = List.of(
            LayerPart.of("lstm", LayersOfSequences::lstm, SEQUENCES),
            LayerPart.of("simpleRnn", LayersOfSequences::simpleRnn, SEQUENCES),
            LayerPart.of("gravesLstm", LayersOfSequences::gravesLstm, SEQUENCES),
            LayerPart.of("gravesBidirectionalLstm", LayersOfSequences::gravesBidirectional, SEQUENCES),
            LayerPart.of("bidirectional", LayersOfSequences::bidirectional, SEQUENCES),
            LayerPart.of("lastTimeStep", LayersOfSequences::lastTimeStep, SEQUENCES),
            LayerPart.of("maskZero", LayersOfSequences::maskZero, SEQUENCES),
            LayerPart.of("timeDistributed", LayersOfSequences::timeDistributed, SEQUENCES),
            LayerPart.of("convolution1d", LayersOfSequences::convolution, SEQUENCES),
            LayerPart.of("subsampling1d", LayersOfSequences::subsampling, SEQUENCES),
            LayerPart.of("upsampling1d", (draw, type) -> new Upsampling1D.Builder(2).build(), SEQUENCES),
            LayerPart.of("zeroPadding1d", LayersOfSequences::padding, SEQUENCES),
            LayerPart.of("cropping1d", LayersOfSequences::cropping, SEQUENCES),
            LayerPart.of(
                    "globalPooling",
                    LayersOfSequences::globalPooling,
                    SEQUENCES,
                    Part.Family.IMAGES,
                    Part.Family.VOLUMES),
            LayerPart.of("capsules", LayersOfSequences::capsules, SEQUENCES),
            LayerPart.of("capsuleStrength", (draw, type) -> new CapsuleStrengthLayer.Builder().build(), SEQUENCES),
            LayerPart.of("selfAttention", LayersOfSequences::selfAttention, SEQUENCES),
            LayerPart.of("recurrentAttention", LayersOfSequences::recurrentAttention, SEQUENCES),
            LayerPart.of("locallyConnected1d", LayersOfSequences::locallyConnected, SEQUENCES));

    private LayersOfSequences() {}

    private static CapsuleLayer capsules(Draw draw, InputType type) {
        return new CapsuleLayer.Builder(draw.between(2, 3), draw.between(1, 3), draw.between(1, 3))
                .hasBias(draw.chance(0.5))
                .build();
    }

    private static LSTM lstm(Draw draw, InputType type) {
        return new LSTM.Builder()
                .nOut(draw.between(2, 5))
                .forgetGateBiasInit(draw.real(0, 1))
                .gateActivationFunction(Functions.gate(draw))
                .activation(Functions.bounded(draw))
                .build();
    }

    /** Without layer normalization, with which it throws: it takes the gains from the wrong axis. */
    private static SimpleRnn simpleRnn(Draw draw, InputType type) {
        return new SimpleRnn.Builder()
                .nOut(draw.between(2, 5))
                .activation(Functions.bounded(draw))
                .build();
    }

    private static GravesLSTM gravesLstm(Draw draw, InputType type) {
        return new GravesLSTM.Builder()
                .nOut(draw.between(2, 4))
                .gateActivationFunction(Functions.gate(draw))
                .activation(Functions.bounded(draw))
                .build();
    }

    private static GravesBidirectionalLSTM gravesBidirectional(Draw draw, InputType type) {
        return new GravesBidirectionalLSTM.Builder()
                .nOut(draw.between(2, 4))
                .gateActivationFunction(Functions.gate(draw))
                .activation(Functions.bounded(draw))
                .build();
    }

    private static BaseRecurrentLayer recurrent(Draw draw, InputType type) {
        return switch (draw.between(0, 4)) {
            case 0, 1 -> lstm(draw, type);
            case 2 -> gravesLstm(draw, type);
            default -> simpleRnn(draw, type);
        };
    }

    /** Sometimes with dropout that keeps everything, of each direction or of the whole. */
    private static Bidirectional bidirectional(Draw draw, InputType type) {
        BaseRecurrentLayer direction = recurrent(draw, type);
        if (draw.chance(0.15)) {
            direction.setIDropout(new Dropout(1));
        }
        Bidirectional both = new Bidirectional(draw.of(Bidirectional.Mode.values()), direction);
        if (draw.chance(0.15)) {
            both.setIDropout(new Dropout(1));
        }
        return both;
    }

    private static LastTimeStep lastTimeStep(Draw draw, InputType type) {
        return new LastTimeStep(draw.chance(0.3) ? bidirectional(draw, type) : recurrent(draw, type));
    }

    private static Layer maskZero(Draw draw, InputType type) {
        return new MaskZeroLayer.Builder()
                .setUnderlying(recurrent(draw, type))
                .setMaskValue(0)
                .build();
    }

    private static TimeDistributed timeDistributed(Draw draw, InputType type) {
        return new TimeDistributed(new DenseLayer.Builder()
                .nOut(draw.between(2, 5))
                .activation(Functions.ofArrays(draw))
                .build());
    }

    private static Convolution1DLayer convolution(Draw draw, InputType type) {
        Convolution1DLayer.Builder builder =
                new Convolution1DLayer.Builder().kernelSize(draw.between(1, 3)).stride(draw.chance(0.7) ? 1 : 2);
        builder.dilation(draw.chance(0.8) ? 1 : 2);
        builder.convolutionMode(draw.of(ConvolutionMode.Same, ConvolutionMode.Truncate, ConvolutionMode.Causal));
        builder.hasBias(draw.chance(0.8));
        return builder.nOut(draw.between(1, 4))
                .activation(Functions.ofArrays(draw))
                .build();
    }

    private static Subsampling1DLayer subsampling(Draw draw, InputType type) {
        Subsampling1DLayer.Builder builder = new Subsampling1DLayer.Builder(
                draw.of(
                        SubsamplingLayer.PoolingType.MAX,
                        SubsamplingLayer.PoolingType.AVG,
                        SubsamplingLayer.PoolingType.PNORM),
                draw.between(2, 3),
                draw.between(1, 2));
        builder.pnorm(draw.between(2, 4));
        builder.convolutionMode(draw.of(ConvolutionMode.Same, ConvolutionMode.Truncate));
        return builder.build();
    }

    private static ZeroPadding1DLayer padding(Draw draw, InputType type) {
        return new ZeroPadding1DLayer.Builder(draw.between(0, 2), draw.between(0, 2)).build();
    }

    private static Cropping1D cropping(Draw draw, InputType type) {
        return new Cropping1D.Builder(draw.between(0, 1), draw.between(0, 1)).build();
    }

    private static GlobalPoolingLayer globalPooling(Draw draw, InputType type) {
        GlobalPoolingLayer.Builder builder = new GlobalPoolingLayer.Builder(
                        draw.of(PoolingType.MAX, PoolingType.AVG, PoolingType.SUM, PoolingType.PNORM))
                .pnorm(draw.between(2, 3));
        // DL4J finds these by itself only for images.
        if (type instanceof InputType.InputTypeRecurrent sequence && sequence.getFormat() == RNNFormat.NWC) {
            builder.poolingDimensions(1);
        } else if (type instanceof InputType.InputTypeConvolutional3D volumes
                && volumes.getDataFormat() == Convolution3D.DataFormat.NDHWC) {
            builder.poolingDimensions(1, 2, 3);
        }
        return builder.build();
    }

    private static int size(InputType type) {
        return (int) ((InputType.InputTypeRecurrent) type).getSize();
    }

    private static SelfAttentionLayer selfAttention(Draw draw, InputType type) {
        boolean project = draw.chance(0.7);
        int heads = project ? draw.between(1, 3) : 1;
        SelfAttentionLayer.Builder builder = new SelfAttentionLayer.Builder();
        builder.nIn(size(type)).nHeads(heads).projectInput(project);
        if (project) {
            builder.headSize(draw.between(1, 4)).nOut(draw.between(2, 4));
        } else {
            builder.nOut(size(type));
        }
        return builder.build();
    }

    private static RecurrentAttentionLayer recurrentAttention(Draw draw, InputType type) {
        // Without projections DL4J throws for one example of one channel.
        boolean project = size(type) == 1 || draw.chance(0.6);
        RecurrentAttentionLayer.Builder builder = new RecurrentAttentionLayer.Builder();
        builder.nIn(size(type)).projectInput(project).hasBias(draw.chance(0.8));
        if (project) {
            builder.nHeads(draw.between(1, 2)).headSize(2).nOut(draw.between(2, 4));
        } else {
            builder.nHeads(1).nOut(size(type));
        }
        return builder.activation(Functions.ofAttention(draw)).build();
    }

    /** Of windows of one number, stock DL4J's gradient of the input of one example is wrong. */
    private static LocallyConnected1D locallyConnected(Draw draw, InputType type) {
        return new LocallyConnected1D.Builder()
                .kernelSize(Math.max(draw.between(1, 3), size(type) == 1 ? 2 : 1))
                .stride(1)
                .convolutionMode(ConvolutionMode.Truncate)
                .nOut(draw.between(1, 3))
                .hasBias(draw.chance(0.5))
                .activation(draw.of(Activation.IDENTITY, Activation.TANH, Activation.SIGMOID))
                .build();
    }
}
