package org.dl4jamp.randomized;

import static org.dl4jamp.randomized.Part.Family.IMAGES;
import static org.dl4jamp.randomized.Part.Family.INDICES;
import static org.dl4jamp.randomized.Part.Family.SEQUENCES;
import static org.dl4jamp.randomized.Part.Family.VECTORS;
import static org.dl4jamp.randomized.Part.Family.VOLUMES;

import java.util.Arrays;
import java.util.List;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.AutoEncoder;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.PReLULayer;
import org.deeplearning4j.nn.conf.layers.misc.ElementWiseMultiplicationLayer;
import org.deeplearning4j.nn.conf.layers.misc.RepeatVector;
import org.deeplearning4j.nn.conf.layers.variational.BernoulliReconstructionDistribution;
import org.deeplearning4j.nn.conf.layers.variational.ExponentialReconstructionDistribution;
import org.deeplearning4j.nn.conf.layers.variational.GaussianReconstructionDistribution;
import org.deeplearning4j.nn.conf.layers.variational.LossFunctionWrapper;
import org.deeplearning4j.nn.conf.layers.variational.ReconstructionDistribution;
import org.deeplearning4j.nn.conf.layers.variational.VariationalAutoencoder;
import org.dl4jamp.randomized.Part.LayerPart;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.lossfunctions.impl.LossMSE;

/** Layers of vectors, and those that take anything. */
final class LayersOfVectors {
    /** The number of rows of embeddings. */
    static final int ROWS = 7;

    static final List<LayerPart> ALL = List.of(
            LayerPart.of("dense", LayersOfVectors::dense, VECTORS, SEQUENCES, IMAGES, VOLUMES),
            LayerPart.of("dense", LayersOfVectors::dense, VECTORS),
            LayerPart.of("dense", LayersOfVectors::dense, VECTORS),
            LayerPart.of("activation", LayersOfVectors::activation, VECTORS, SEQUENCES, IMAGES, VOLUMES),
            LayerPart.of("dropoutLayer", LayersOfVectors::dropout, VECTORS, SEQUENCES, IMAGES, VOLUMES),
            LayerPart.of("batchNormalization", LayersOfVectors::batchNormalization, VECTORS, IMAGES),
            LayerPart.of("batchNormalization", LayersOfVectors::batchNormalization, VECTORS, IMAGES),
            LayerPart.of("prelu", LayersOfVectors::prelu, VECTORS, IMAGES, SEQUENCES),
            LayerPart.of("elementWiseMultiplication", LayersOfVectors::elementWise, VECTORS),
            LayerPart.of(
                    "repeatVector", (draw, type) -> new RepeatVector.Builder<>(draw.between(2, 4)).build(), VECTORS),
            LayerPart.of("autoEncoder", LayersOfVectors::autoEncoder, VECTORS),
            LayerPart.of("variationalAutoencoder", LayersOfVectors::variational, VECTORS));

    /** The first layer of networks with indices as features. */
    static final List<LayerPart> EMBEDDINGS = List.of(
            LayerPart.of("embedding", LayersOfVectors::embedding, INDICES),
            LayerPart.of("embeddingSequence", LayersOfVectors::embeddingSequence, INDICES));

    private LayersOfVectors() {}

    private static DenseLayer dense(Draw draw, InputType type) {
        return new DenseLayer.Builder()
                .nOut(draw.between(2, 6))
                .hasBias(draw.chance(0.8))
                .hasLayerNorm(draw.chance(0.15))
                .activation(Functions.ofArrays(draw))
                .build();
    }

    private static ActivationLayer activation(Draw draw, InputType type) {
        return new ActivationLayer(Functions.ofArrays(draw));
    }

    private static DropoutLayer dropout(Draw draw, InputType type) {
        return new DropoutLayer(draw.real(0.5, 0.9));
    }

    private static BatchNormalization batchNormalization(Draw draw, InputType type) {
        BatchNormalization.Builder builder = new BatchNormalization.Builder()
                .decay(draw.real(0.5, 0.95))
                // Large enough that channels that hardly vary aren't made of rounding.
                .eps(draw.of(1e-2, 0.05))
                .lockGammaBeta(draw.chance(0.2))
                .minibatch(draw.chance(0.9))
                .useLogStd(draw.chance(0.5));
        if (type instanceof InputType.InputTypeConvolutional images && images.getFormat() == CNN2DFormat.NHWC) {
            builder.dataFormat(CNN2DFormat.NHWC);
        }
        return builder.gamma(draw.real(0.5, 1.5)).beta(draw.real(-0.5, 0.5)).build();
    }

    private static PReLULayer prelu(Draw draw, InputType type) {
        long[] shape = Batches.shape(type, 1);
        PReLULayer.Builder builder = new PReLULayer.Builder().inputShape(Arrays.copyOfRange(shape, 1, shape.length));
        // ND4J refuses inputs that are 64 times as large as the slopes are.
        if (shape.length == 4 && shape[2] * shape[3] <= 4 && draw.chance(0.8)) {
            builder.sharedAxes(2, 3);
        }
        return builder.build();
    }

    private static ElementWiseMultiplicationLayer elementWise(Draw draw, InputType type) {
        long size = ((InputType.InputTypeFeedForward) type).getSize();
        return new ElementWiseMultiplicationLayer.Builder()
                .nIn(size)
                .nOut(size)
                .activation(Functions.ofArrays(draw))
                .build();
    }

    private static AutoEncoder autoEncoder(Draw draw, InputType type) {
        return new AutoEncoder.Builder()
                .nOut(draw.between(2, 5))
                .activation(Functions.any(draw))
                .corruptionLevel(draw.of(0.0, 0.3))
                .sparsity(draw.of(0.0, 0.1))
                .build();
    }

    private static VariationalAutoencoder variational(Draw draw, InputType type) {
        return new VariationalAutoencoder.Builder()
                .nOut(draw.between(2, 4))
                .encoderLayerSizes(draw.between(2, 4))
                .decoderLayerSizes(draw.between(2, 4))
                .activation(Functions.any(draw))
                .numSamples(draw.between(1, 2))
                .reconstructionDistribution(distribution(draw))
                .build();
    }

    private static ReconstructionDistribution distribution(Draw draw) {
        return switch (draw.between(0, 3)) {
            case 0 -> new BernoulliReconstructionDistribution(Activation.SIGMOID);
            case 1 -> new ExponentialReconstructionDistribution(Activation.TANH);
            case 2 -> new LossFunctionWrapper(Activation.TANH, new LossMSE());
            default -> new GaussianReconstructionDistribution(Activation.TANH);
        };
    }

    private static EmbeddingLayer embedding(Draw draw, InputType type) {
        return new EmbeddingLayer.Builder()
                .nIn(ROWS)
                .nOut(draw.between(2, 5))
                .hasBias(draw.chance(0.5))
                .activation(Functions.ofArrays(draw))
                .build();
    }

    private static EmbeddingSequenceLayer embeddingSequence(Draw draw, InputType type) {
        return new EmbeddingSequenceLayer.Builder()
                .nIn(ROWS)
                .nOut(draw.between(2, 5))
                .inputLength(NetworkAssembly.STEPS)
                .hasBias(draw.chance(0.5))
                .activation(Functions.ofArrays(draw))
                .build();
    }
}
