package org.dl4jamp.engine.nd4j;

import java.util.Set;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;

/**
 * Finds the layers that apply their configured dropout to their whole input: the wrapper can do it for them and keep
 * the result in half precision. Others ignore it, as embeddings, or apply it to something else.
 */
final class InputDropout {
    private static final Set<Class<? extends Layer>> APPLY = Set.of(
            DenseLayer.class,
            ConvolutionLayer.class,
            Deconvolution2D.class,
            DepthwiseConvolution2D.class,
            SeparableConvolution2D.class,
            LSTM.class,
            GravesLSTM.class,
            SimpleRnn.class,
            DropoutLayer.class);

    private InputDropout() {}

    static boolean canBeLifted(Layer layer) {
        return APPLY.contains(layer.getClass());
    }
}
