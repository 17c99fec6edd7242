package org.dl4jamp.randomized;

import static org.dl4jamp.randomized.Part.Family.VOLUMES;

import java.util.List;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.Deconvolution3D;
import org.deeplearning4j.nn.conf.layers.Subsampling3DLayer;
import org.deeplearning4j.nn.conf.layers.Upsampling3D;
import org.deeplearning4j.nn.conf.layers.ZeroPadding3DLayer;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping3D;
import org.dl4jamp.randomized.Part.LayerPart;

/** Layers of volumes. */
final class LayersOfVolumes {
    static final List<LayerPart> ALL = List.of(
            LayerPart.of("convolution3d", LayersOfVolumes::convolution, VOLUMES),
            LayerPart.of("convolution3d", LayersOfVolumes::convolution, VOLUMES),
            LayerPart.of("deconvolution3d", LayersOfVolumes::deconvolution, VOLUMES),
            LayerPart.of("subsampling3d", LayersOfVolumes::subsampling, VOLUMES),
            LayerPart.of("upsampling3d", (draw, type) -> new Upsampling3D.Builder(format(type), 2).build(), VOLUMES),
            LayerPart.of("zeroPadding3d", LayersOfVolumes::padding, VOLUMES),
            LayerPart.of("cropping3d", LayersOfVolumes::cropping, VOLUMES));

    private LayersOfVolumes() {}

    private static Convolution3D.DataFormat format(InputType type) {
        return ((InputType.InputTypeConvolutional3D) type).getDataFormat();
    }

    private static int[] triple(Draw draw, int least, int most) {
        return new int[] {draw.between(least, most), draw.between(least, most), draw.between(least, most)};
    }

    private static ConvolutionMode mode(Draw draw) {
        return draw.of(ConvolutionMode.Same, ConvolutionMode.Truncate);
    }

    private static int[] stride(Draw draw) {
        return draw.chance(0.6) ? new int[] {1, 1, 1} : triple(draw, 1, 2);
    }

    private static Convolution3D convolution(Draw draw, InputType type) {
        Convolution3D.Builder builder =
                new Convolution3D.Builder(triple(draw, 1, 3), stride(draw)).dataFormat(format(type));
        builder.convolutionMode(mode(draw));
        builder.hasBias(draw.chance(0.7));
        return builder.nOut(draw.between(1, 3))
                .activation(Functions.ofArrays(draw))
                .build();
    }

    private static Deconvolution3D deconvolution(Draw draw, InputType type) {
        Deconvolution3D.Builder builder = new Deconvolution3D.Builder()
                .kernelSize(triple(draw, 1, 2))
                .stride(stride(draw))
                .dataFormat(format(type));
        builder.convolutionMode(mode(draw));
        builder.hasBias(draw.chance(0.7));
        return builder.nOut(draw.between(1, 3))
                .activation(Functions.ofArrays(draw))
                .build();
    }

    private static Subsampling3DLayer subsampling(Draw draw, InputType type) {
        Subsampling3DLayer.Builder builder = new Subsampling3DLayer.Builder(
                        draw.of(Subsampling3DLayer.PoolingType.MAX, Subsampling3DLayer.PoolingType.AVG),
                        triple(draw, 1, 2),
                        stride(draw))
                .dataFormat(format(type));
        builder.convolutionMode(mode(draw));
        return builder.build();
    }

    private static ZeroPadding3DLayer padding(Draw draw, InputType type) {
        return new ZeroPadding3DLayer.Builder(draw.between(0, 1), draw.between(0, 1), draw.between(0, 1)).build();
    }

    private static Cropping3D cropping(Draw draw, InputType type) {
        return new Cropping3D.Builder(draw.between(0, 1), draw.between(0, 1), draw.between(0, 1)).build();
    }
}
