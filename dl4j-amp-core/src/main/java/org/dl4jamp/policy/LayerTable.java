package org.dl4jamp.policy;

import static java.util.Map.entry;
import static org.dl4jamp.precision.LayerFamily.*;

import java.util.Map;
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

/** The family of every layer and vertex class of DL4J. A test fails if one has no line of its own here. */
public final class LayerTable {
    static final Map<Class<?>, LayerFamily> FAMILIES = Map.ofEntries(
            // Dense and convolutional
            entry(DenseLayer.class, PRODUCTS),
            entry(ConvolutionLayer.class, PRODUCTS),
            entry(Convolution1DLayer.class, PRODUCTS),
            entry(Convolution1D.class, PRODUCTS),
            entry(Convolution2D.class, PRODUCTS),
            entry(Convolution3D.class, PRODUCTS),
            entry(Deconvolution2D.class, PRODUCTS),
            entry(Deconvolution3D.class, PRODUCTS),
            entry(DepthwiseConvolution2D.class, PRODUCTS),
            entry(SeparableConvolution2D.class, PRODUCTS),
            entry(LocallyConnected1D.class, PRODUCTS),
            entry(LocallyConnected2D.class, PRODUCTS),
            // Recurrent and attention
            entry(LSTM.class, PRODUCTS),
            entry(GravesLSTM.class, PRODUCTS),
            entry(GravesBidirectionalLSTM.class, PRODUCTS),
            entry(SimpleRnn.class, PRODUCTS),
            entry(SelfAttentionLayer.class, PRODUCTS),
            entry(LearnedSelfAttentionLayer.class, PRODUCTS),
            entry(RecurrentAttentionLayer.class, PRODUCTS),
            // Embedding
            entry(EmbeddingLayer.class, LOOKUP),
            entry(EmbeddingSequenceLayer.class, LOOKUP),
            // Outputs and losses. The two abstract classes count for users' subclasses.
            entry(BaseOutputLayer.class, OUTPUT),
            entry(OutputLayer.class, OUTPUT),
            entry(RnnOutputLayer.class, OUTPUT),
            entry(CenterLossOutputLayer.class, OUTPUT),
            entry(OCNNOutputLayer.class, OUTPUT),
            entry(LossLayer.class, LOSS),
            entry(CnnLossLayer.class, LOSS),
            entry(Cnn3DLossLayer.class, LOSS),
            entry(RnnLossLayer.class, LOSS),
            entry(Yolo2OutputLayer.class, LOSS),
            entry(SameDiffOutputLayer.class, LOSS),
            // In fit() an autoencoder is a dense layer and would gain, but pretrain() runs its reconstruction loss
            // through the same object. lower(AutoEncoder.class) is for programs that don't pretrain.
            entry(AutoEncoder.class, PRETRAINED),
            entry(VariationalAutoencoder.class, PRETRAINED),
            // Normalization, and capsules, which normalize by length (and route by softmax) inside
            entry(BatchNormalization.class, BATCH_NORM),
            entry(LocalResponseNormalization.class, STATISTICS),
            entry(PrimaryCapsules.class, STATISTICS),
            entry(CapsuleLayer.class, STATISTICS),
            entry(CapsuleStrengthLayer.class, STATISTICS),
            // Pooling: LayerKinds depends on the kind of pooling, too
            entry(SubsamplingLayer.class, POOLING),
            entry(Subsampling1DLayer.class, POOLING),
            entry(Subsampling3DLayer.class, POOLING),
            entry(Pooling1D.class, POOLING),
            entry(Pooling2D.class, POOLING),
            entry(GlobalPoolingLayer.class, POOLING),
            // One value from one value: LayerKinds depends on the activation function, too
            entry(ActivationLayer.class, ELEMENT_WISE),
            entry(DropoutLayer.class, ELEMENT_WISE),
            entry(PReLULayer.class, ELEMENT_WISE),
            entry(ElementWiseMultiplicationLayer.class, ELEMENT_WISE),
            entry(MaskLayer.class, ELEMENT_WISE),
            // Moving values about
            entry(Cropping1D.class, SHAPE),
            entry(Cropping2D.class, SHAPE),
            entry(Cropping3D.class, SHAPE),
            entry(ZeroPadding1DLayer.class, SHAPE),
            entry(ZeroPaddingLayer.class, SHAPE),
            entry(ZeroPadding3DLayer.class, SHAPE),
            entry(Upsampling1D.class, SHAPE),
            entry(Upsampling2D.class, SHAPE),
            entry(Upsampling3D.class, SHAPE),
            entry(SpaceToBatchLayer.class, SHAPE),
            entry(SpaceToDepthLayer.class, SHAPE),
            entry(RepeatVector.class, SHAPE),
            // Wrappers
            entry(Bidirectional.class, WRAPPER),
            entry(LastTimeStep.class, WRAPPER),
            entry(TimeDistributed.class, WRAPPER),
            entry(MaskZeroLayer.class, WRAPPER),
            entry(FrozenLayer.class, WRAPPER),
            entry(FrozenLayerWithBackprop.class, WRAPPER),
            // Vertices
            entry(LayerVertex.class, WRAPPER),
            entry(FrozenVertex.class, WRAPPER),
            entry(ElementWiseVertex.class, ELEMENT_WISE),
            entry(ScaleVertex.class, ELEMENT_WISE),
            entry(ShiftVertex.class, ELEMENT_WISE),
            entry(MergeVertex.class, SHAPE),
            entry(StackVertex.class, SHAPE),
            entry(UnstackVertex.class, SHAPE),
            entry(SubsetVertex.class, SHAPE),
            entry(ReshapeVertex.class, SHAPE),
            entry(PoolHelperVertex.class, SHAPE),
            entry(DuplicateToTimeSeriesVertex.class, SHAPE),
            entry(LastTimeStepVertex.class, SHAPE),
            entry(ReverseTimeSeriesVertex.class, SHAPE),
            entry(PreprocessorVertex.class, SHAPE),
            entry(L2Vertex.class, STATISTICS),
            entry(L2NormalizeVertex.class, STATISTICS),
            entry(AttentionVertex.class, FIXED_TYPE));

    private LayerTable() {}

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
