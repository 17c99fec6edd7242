package org.dl4jamp.onednn.linear;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.pooling.Window;
import org.dl4jamp.onednn.pooling.WindowGeometry;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.RepetitionKernels;
import org.dl4jamp.onednn.weights.WeightCopies;
import org.dl4jamp.precision.AmpException;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;

/** The message when oneDNN refuses. */
class KernelFailureTest {
    @Test
    void namesLayerPrimitiveShapesAndPrecision() {
        int[] three = {3, 3};
        int[] one = {1, 1};
        WindowGeometry geometry = new Window(2, three, one, new int[2], one, ConvolutionMode.Truncate).over(8, 9);
        ProductKernels.Task threeChannelsByWeightsForFive = new ProductKernels.Task(
                "layer \"conv1\"",
                Layout.channelsLast(DataType.BFLOAT16, 2, 3, 8, 9),
                Layout.dense(DataType.FLOAT, 4, 5, 3, 3),
                true,
                Layout.channelsLast(DataType.BFLOAT16, 2, 4, 6, 7),
                false,
                null);
        try (OneDnnContext context = new OneDnnContext();
                WeightCopies copies = new WeightCopies(false)) {
            String message = assertThrows(
                            AmpException.class,
                            () -> ProductKernels.make(
                                    context,
                                    new ConvolutionPrimitives<>(
                                            ConvolutionKind.CONVOLUTION, ConvolutionPrimitives.Source.INPUT, geometry),
                                    copies,
                                    threeChannelsByWeightsForFive))
                    .getMessage();
            for (String part : List.of(
                    "oneDNN can't make layer \"conv1\"",
                    "convolution with kernel [3, 3]",
                    "BFLOAT16 [2, 3, 8, 9]",
                    "FLOAT [4, 5, 3, 3]",
                    "BFLOAT16 [2, 4, 6, 7]")) {
                assertTrue(message.contains(part), part + " isn't in: " + message);
            }
        }
    }

    @Test
    void namesThemWhereTheBindingHasCFunctionsOnly() {
        try (OneDnnContext context = new OneDnnContext()) {
            String message = assertThrows(
                            AmpException.class,
                            () -> RepetitionKernels.make(
                                    context,
                                    "layer \"up1\"",
                                    Layout.channelsLast(DataType.BFLOAT16, 2, 3, 4),
                                    Layout.channelsLast(DataType.BFLOAT16, 2, 5, 8)))
                    .getMessage();
            assertTrue(message.contains("layer \"up1\": repetition of BFLOAT16 [2, 3, 4]"), message);
        }
    }
}
