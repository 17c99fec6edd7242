package org.dl4jamp.onednn.shape;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
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
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.TwinCheck;
import org.dl4jamp.onednn.memory.Workspaces;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Layers that move, repeat, cut and pad numbers agree with DL4J's on random shapes. */
class ShapeLayersTest {
    private static CNN2DFormat format(boolean last) {
        return last ? CNN2DFormat.NHWC : CNN2DFormat.NCHW;
    }

    private static INDArray input(Random random, boolean last, long... shape) {
        INDArray input = gaussian(random, 1, shape);
        return last ? Workspaces.contiguous(input).dup('c') : input;
    }

    @Property(tries = 30)
    void upsampling(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 3) int batch,
            @ForAll @IntRange(min = 1, max = 20) int channels,
            @ForAll @IntRange(min = 1, max = 4) int first,
            @ForAll @IntRange(min = 1, max = 4) int second,
            @ForAll boolean last) {
        Random random = new Random(seed);
        TwinCheck.of(new Upsampling1D.Builder(first).build(), RepetitionTwin.class, random)
                .agrees(gaussian(random, 1, batch, channels, 5));
        Upsampling2D images = new Upsampling2D.Builder()
                .size(new int[] {first, second})
                .dataFormat(format(last))
                .build();
        TwinCheck.of(images, RepetitionTwin.class, random).agrees(input(random, last, batch, channels, 3, second));
        Convolution3D.DataFormat format = last ? Convolution3D.DataFormat.NDHWC : Convolution3D.DataFormat.NCDHW;
        Upsampling3D volumes =
                new Upsampling3D.Builder(first).dataFormat(format).build();
        TwinCheck.of(volumes, RepetitionTwin.class, random).agrees(input(random, last, batch, channels, 2, 3, second));
    }

    @Property(tries = 20)
    void repetitionOfVectors(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 4) int batch,
            @ForAll @IntRange(min = 1, max = 20) int size,
            @ForAll @IntRange(min = 1, max = 7) int steps,
            @ForAll boolean last) {
        Random random = new Random(seed);
        RepeatVector conf = new RepeatVector.Builder<>(steps)
                .dataFormat(last ? RNNFormat.NWC : RNNFormat.NCW)
                .build();
        TwinCheck.of(conf, RepetitionTwin.class, random).agrees(gaussian(random, 1, batch, size));
    }

    @Property(tries = 30)
    void zeroPaddingAndCropping(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 3) int batch,
            @ForAll @IntRange(min = 1, max = 20) int channels,
            @ForAll @IntRange(max = 2) int before,
            @ForAll @IntRange(max = 3) int after,
            @ForAll boolean last) {
        Random random = new Random(seed);
        Layer padded = new ZeroPaddingLayer.Builder(new int[] {before, after, after, before})
                .dataFormat(format(last))
                .build();
        Layer cropped = new Cropping2D.Builder(before, after, after, before)
                .dataFormat(format(last))
                .build();
        for (Layer conf : List.of(padded, cropped)) {
            TwinCheck.of(conf, MarginTwin.class, random).agrees(input(random, last, batch, channels, 6, 7));
        }
        for (Layer conf : List.of(new ZeroPadding1DLayer(before, after), new Cropping1D(before, after))) {
            TwinCheck.of(conf, MarginTwin.class, random).agrees(gaussian(random, 1, batch, channels, 8));
        }
        int[] sizes = {before, after, after, before, 1, 2};
        Layer volume = new ZeroPadding3DLayer.Builder(sizes).build();
        Layer inside = new Cropping3D.Builder(sizes).build();
        for (Layer conf : List.of(volume, inside)) {
            TwinCheck.of(conf, MarginTwin.class, random).agrees(gaussian(random, 1, batch, channels, 6, 7, 5));
        }
    }

    @Property(tries = 20)
    void spaceToDepth(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 3) int batch,
            @ForAll @IntRange(min = 1, max = 9) int channels,
            @ForAll @IntRange(min = 2, max = 3) int block,
            @ForAll boolean last) {
        Random random = new Random(seed);
        SpaceToDepthLayer conf = new SpaceToDepthLayer.Builder<>(block, format(last)).build();
        TwinCheck.of(conf, SpaceToDepthTwin.class, random)
                .agrees(input(random, last, batch, channels, 2L * block, 3L * block));
    }

    static Stream<Layer> layers() {
        return Stream.of(
                new Upsampling1D.Builder(2).build(),
                new Upsampling2D.Builder(2).build(),
                new Upsampling3D.Builder(2).build(),
                new RepeatVector.Builder<>(3).build(),
                new ZeroPaddingLayer.Builder(1, 1).build(),
                new Cropping1D(2, 2),
                new Cropping3D.Builder(1, 1, 1).build(),
                new SpaceToDepthLayer.Builder<>(2, CNN2DFormat.NCHW).build());
    }

    @ParameterizedTest
    @MethodSource("layers")
    void answerABadShapeAsDl4jDoes(Layer conf) {
        // Of a rank that none of them takes.
        INDArray input = gaussian(new Random(1), 1, 6);
        LayerWorkspaceMgr none = LayerWorkspaceMgr.noWorkspaces();
        RuntimeException expected = assertThrows(
                RuntimeException.class, () -> SingleLayer.dl4j(conf, null).activate(input, false, none));
        try (EngineSession session = new OneDnnEngine().session(0, true)) {
            RuntimeException actual =
                    assertThrows(RuntimeException.class, () -> Layers.twin(session, conf, null, DataType.FLOAT)
                            .activate(input, false, none));
            assertEquals(expected.getMessage(), actual.getMessage());
            assertEquals(expected.getClass(), actual.getClass());
        }
    }
}
