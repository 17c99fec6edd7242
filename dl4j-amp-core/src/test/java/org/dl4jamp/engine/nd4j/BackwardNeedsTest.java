package org.dl4jamp.engine.nd4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.Arrays;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.policy.LayerKindsTest;
import org.junit.jupiter.api.Test;

class BackwardNeedsTest {
    /**
     * The others need what they keep, or may keep, of their forward pass. A new class of DL4J's has to be looked at.
     */
    private static final String READING_INPUT_ONLY = """
            ActivationLayer BatchNormalization Bidirectional Cnn3DLossLayer CnnLossLayer Convolution1D
            Convolution1DLayer Convolution2D Convolution3D ConvolutionLayer Cropping1D Cropping2D Cropping3D
            Deconvolution2D Deconvolution3D DenseLayer DepthwiseConvolution2D DropoutLayer
            ElementWiseMultiplicationLayer EmbeddingLayer EmbeddingSequenceLayer GlobalPoolingLayer
            GravesBidirectionalLSTM GravesLSTM LSTM LearnedSelfAttentionLayer LocalResponseNormalization
            LocallyConnected1D LocallyConnected2D LossLayer MaskLayer MaskZeroLayer OutputLayer PReLULayer Pooling1D
            Pooling2D RecurrentAttentionLayer RepeatVector RnnLossLayer RnnOutputLayer SelfAttentionLayer
            SeparableConvolution2D SimpleRnn SpaceToBatchLayer SpaceToDepthLayer Subsampling1DLayer
            Subsampling3DLayer SubsamplingLayer Upsampling1D Upsampling2D Upsampling3D ZeroPadding1DLayer
            ZeroPadding3DLayer ZeroPaddingLayer
            """;

    @Test
    void theseOfAllLayerClassesOfDl4jReadNothingButTheirInput() throws Exception {
        assertEquals(
                new TreeSet<>(Arrays.asList(READING_INPUT_ONLY.split("\\s+"))),
                LayerKindsTest.concreteClasses(Layer.class::isAssignableFrom).stream()
                        .filter(BackwardNeeds::readsInputOnly)
                        .map(Class::getSimpleName)
                        .collect(Collectors.toCollection(TreeSet::new)));
    }

    @Test
    void subclassesMayKeepAnything() {
        assertFalse(BackwardNeeds.readsInputOnly(new DenseLayer() {}.getClass()));
    }
}
