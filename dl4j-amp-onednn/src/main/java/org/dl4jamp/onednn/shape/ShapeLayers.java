package org.dl4jamp.onednn.shape;

import java.util.List;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.SpaceToDepthLayer;
import org.deeplearning4j.nn.conf.layers.Upsampling1D;
import org.deeplearning4j.nn.conf.layers.Upsampling2D;
import org.deeplearning4j.nn.conf.layers.Upsampling3D;
import org.deeplearning4j.nn.conf.layers.ZeroPadding1DLayer;
import org.deeplearning4j.nn.conf.layers.ZeroPadding3DLayer;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping1D;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping2D;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping3D;
import org.deeplearning4j.nn.conf.layers.misc.RepeatVector;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.twin.LayerKernels;

/** Layers that move, repeat, cut and pad numbers without computing with them. */
public final class ShapeLayers {
    private ShapeLayers() {}

    public static List<LayerKernels<?>> kernels() {
        return List.of(
                repetition(Upsampling1D.class),
                repetition(Upsampling2D.class),
                repetition(Upsampling3D.class),
                repetition(RepeatVector.class),
                margins(ZeroPadding1DLayer.class),
                margins(ZeroPaddingLayer.class),
                margins(ZeroPadding3DLayer.class),
                margins(Cropping1D.class),
                margins(Cropping2D.class),
                margins(Cropping3D.class),
                new LayerKernels<>(SpaceToDepthLayer.class, SpaceToDepthTwin::new, true)
                        .in(layer -> ChannelAxis.of(layer.getDataFormat())));
    }

    private static <L extends Layer> LayerKernels<L> repetition(Class<L> type) {
        return new LayerKernels<>(type, RepetitionTwin::new, true).in(RepetitionTwin::axis);
    }

    private static <L extends Layer> LayerKernels<L> margins(Class<L> type) {
        return new LayerKernels<>(type, MarginTwin::new, false)
                .in(layer -> Margins.of(layer).channels());
    }
}
