package org.dl4jamp.policy;

import static org.dl4jamp.precision.LayerFamily.*;

import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.graph.*;
import org.deeplearning4j.nn.conf.graph.rnn.*;
import org.deeplearning4j.nn.conf.layers.*;
import org.deeplearning4j.nn.conf.layers.convolutional.*;
import org.deeplearning4j.nn.conf.layers.misc.*;
import org.deeplearning4j.nn.conf.layers.objdetect.Yolo2OutputLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.*;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffOutputLayer;
import org.deeplearning4j.nn.conf.layers.util.*;
import org.deeplearning4j.nn.conf.layers.variational.VariationalAutoencoder;
import org.deeplearning4j.nn.conf.ocnn.OCNNOutputLayer;
import org.dl4jamp.precision.LayerFamily;

/** The family of every layer and vertex class of DL4J. A test fails if one has no entry of its own here. */
public final class LayerTable {
    static final Map<Class<?>, LayerFamily> FAMILIES = Stream.of(
                    // Dense and convolutional
                    each(PRODUCTS, DenseLayer.class, LocallyConnected1D.class, LocallyConnected2D.class),
                    each(PRODUCTS, ConvolutionLayer.class, Convolution1DLayer.class),
                    each(PRODUCTS, Convolution1D.class, Convolution2D.class, Convolution3D.class),
                    each(PRODUCTS, Deconvolution2D.class, Deconvolution3D.class),
                    each(PRODUCTS, DepthwiseConvolution2D.class, SeparableConvolution2D.class),
                    // Recurrent and attention
                    each(PRODUCTS, LSTM.class, GravesLSTM.class, GravesBidirectionalLSTM.class, SimpleRnn.class),
                    each(PRODUCTS, SelfAttentionLayer.class, LearnedSelfAttentionLayer.class),
                    each(PRODUCTS, RecurrentAttentionLayer.class),
                    // Embedding
                    each(LOOKUP, EmbeddingLayer.class, EmbeddingSequenceLayer.class),
                    // Outputs and losses. The two abstract classes count for users' subclasses.
                    each(OUTPUT, BaseOutputLayer.class, OutputLayer.class, RnnOutputLayer.class),
                    each(OUTPUT, CenterLossOutputLayer.class, OCNNOutputLayer.class),
                    each(LOSS, LossLayer.class, CnnLossLayer.class, Cnn3DLossLayer.class, RnnLossLayer.class),
                    each(LOSS, Yolo2OutputLayer.class, SameDiffOutputLayer.class),
                    each(PRETRAINED, AutoEncoder.class, VariationalAutoencoder.class),
                    // Normalization, and capsules, which normalize by length (and route by softmax) inside
                    each(BATCH_NORM, BatchNormalization.class),
                    each(STATISTICS, LocalResponseNormalization.class),
                    each(STATISTICS, PrimaryCapsules.class, CapsuleLayer.class, CapsuleStrengthLayer.class),
                    // Pooling: LayerKinds depends on the kind of pooling, too
                    each(POOLING, SubsamplingLayer.class, Subsampling1DLayer.class, Subsampling3DLayer.class),
                    each(POOLING, Pooling1D.class, Pooling2D.class, GlobalPoolingLayer.class),
                    // One value from one value: LayerKinds depends on the activation function, too
                    each(ELEMENT_WISE, ActivationLayer.class, PReLULayer.class, ElementWiseMultiplicationLayer.class),
                    each(ELEMENT_WISE, DropoutLayer.class, MaskLayer.class),
                    // Moving values about
                    each(SHAPE, Cropping1D.class, Cropping2D.class, Cropping3D.class),
                    each(SHAPE, ZeroPadding1DLayer.class, ZeroPaddingLayer.class, ZeroPadding3DLayer.class),
                    each(SHAPE, Upsampling1D.class, Upsampling2D.class, Upsampling3D.class),
                    each(SHAPE, SpaceToBatchLayer.class, SpaceToDepthLayer.class, RepeatVector.class),
                    // Wrappers
                    each(WRAPPER, Bidirectional.class, LastTimeStep.class, TimeDistributed.class),
                    each(WRAPPER, MaskZeroLayer.class, FrozenLayer.class, FrozenLayerWithBackprop.class),
                    // Vertices
                    each(WRAPPER, LayerVertex.class, FrozenVertex.class),
                    each(ELEMENT_WISE, ElementWiseVertex.class, ScaleVertex.class, ShiftVertex.class),
                    each(SHAPE, MergeVertex.class, StackVertex.class, UnstackVertex.class, SubsetVertex.class),
                    each(SHAPE, ReshapeVertex.class, PoolHelperVertex.class, PreprocessorVertex.class),
                    each(SHAPE, DuplicateToTimeSeriesVertex.class, LastTimeStepVertex.class),
                    each(SHAPE, ReverseTimeSeriesVertex.class),
                    each(STATISTICS, L2Vertex.class, L2NormalizeVertex.class),
                    each(PRODUCTS, AttentionVertex.class))
            .flatMap(entries -> entries)
            .collect(Collectors.toUnmodifiableMap(Map.Entry::getKey, Map.Entry::getValue));

    private LayerTable() {}

    private static Stream<Map.Entry<Class<?>, LayerFamily>> each(LayerFamily family, Class<?>... types) {
        return Stream.of(types).map(type -> Map.entry(type, family));
    }

    /** Returns whether a class is one of DL4J's, and not a subclass of one. */
    public static boolean lists(Class<?> type) {
        return FAMILIES.containsKey(type);
    }

    /** Returns the family of the class or of its nearest superclass in the table. */
    static LayerFamily family(Class<?> type) {
        for (Class<?> c = type; c != null; c = c.getSuperclass()) {
            LayerFamily family = FAMILIES.get(c);
            if (family != null) {
                return family;
            }
        }
        return LayerFamily.UNKNOWN;
    }
}
