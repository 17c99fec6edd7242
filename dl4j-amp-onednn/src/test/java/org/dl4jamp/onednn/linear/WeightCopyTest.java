package org.dl4jamp.onednn.linear;

import static org.dl4jamp.onednn.Layers.gaussian;

import java.util.Random;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.weights.WeightCopies;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Shapes of a layer's input share one copy of the weights, even if their primitives read different orders. */
class WeightCopyTest {
    private static final int IN = 24;
    private static final int OUT = 40;

    /** An inner product that reads its weights in an order of its own. */
    private static DensePrimitives wanting(long... strides) {
        return new DensePrimitives(false) {
            @Override
            public memory.desc weights(DataType type, Layout network) {
                return Layout.strided(type, network.shape(), strides).descriptor();
            }
        };
    }

    private static ProductKernels kernels(
            OneDnnContext context, WeightCopies copies, int examples, DensePrimitives primitives) {
        return ProductKernels.make(
                context,
                primitives,
                copies,
                new ProductKernels.Task(
                        "layer",
                        Layout.dense(DataType.FLOAT, examples, IN),
                        Layout.dense(DataType.FLOAT, OUT, IN),
                        false,
                        Layout.dense(DataType.FLOAT, examples, OUT),
                        false,
                        null));
    }

    /** The backward pass of one shape comes after a forward pass of another, which is made before or in between. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aBackwardPassFindsItsWeightsWhereAnotherShapeHasBeenInBetween(boolean madeInBetween) {
        Random random = new Random(1);
        INDArray weights = gaussian(random, 1, OUT, IN);
        INDArray delta = gaussian(random, 1, 3, OUT);
        INDArray gradient = Nd4j.create(DataType.FLOAT, 3, IN);
        INDArray input = gaussian(random, 1, 3, IN);
        INDArray output = Nd4j.create(DataType.FLOAT, 3, OUT);
        INDArray other = Nd4j.create(DataType.FLOAT, 5, OUT);
        DensePrimitives apart = wanting(IN + 16, 1);
        try (OneDnnContext context = new OneDnnContext();
                WeightCopies copies = new WeightCopies(false);
                ProductKernels one = kernels(context, copies, 3, wanting(1, OUT));
                ProductKernels early = kernels(context, copies, 5, apart)) {
            one.takeWeights(weights, true);
            one.forward(input, null, output);
            try (ProductKernels late = kernels(context, copies, 5, apart)) {
                ProductKernels second = madeInBetween ? late : early;
                second.takeWeights(weights, true);
                second.forward(gaussian(random, 1, 5, IN), null, other);
            }
            one.backwardData(delta, weights, gradient);
        }
        Agreement.assertWithin("output", input.mmul(weights.transpose()), output, 1e-5);
        Agreement.assertWithin("gradient of the input", delta.mmul(weights), gradient, 1e-5);
    }
}
