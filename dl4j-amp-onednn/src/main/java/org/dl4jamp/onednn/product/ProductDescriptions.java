package org.dl4jamp.onednn.product;

import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.post_ops;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.onednn.array.Layout;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * oneDNN's descriptions of the primitives of a layer that multiplies by weights, for one shape of its input. All of it is to be used within {@link
 * OneDnnContext#make}, and made anew for each primitive, which takes little time and no memory.
 *
 * @param primitives which they are
 * @param task what they are made for
 * @param samples the positions of the input that are multiplied
 */
record ProductDescriptions<F extends primitive_desc>(
        ProductPrimitives<F> primitives, ProductKernels.Task task, Layout samples) {
    memory.desc input() {
        return primitives.seen(samples).descriptor();
    }

    memory.desc output() {
        return primitives.seen(task.output()).descriptor();
    }

    memory.desc floatOutput() {
        return primitives
                .seen(Layout.channelsLast(DataType.FLOAT, task.output().shape()))
                .descriptor();
    }

    memory.desc bias() {
        return task.hasBias()
                ? Layout.dense(DataType.FLOAT, task.output().shape()[1]).descriptor()
                : new memory.desc();
    }

    /** How the network's weights, and their gradients, lie in memory. */
    memory.desc network() {
        return networks().descriptor();
    }

    private Layout networks() {
        return primitives.seen(task.weights());
    }

    private memory.desc wanted(DataType type) {
        return primitives.weights(type, networks());
    }

    /** With the activation function, if there is one. */
    F forward() {
        primitive_attr attributes = OneDnnContext.attributes();
        if (task.function() != null) {
            post_ops function = new post_ops();
            function.append_eltwise(
                    task.function().function(),
                    task.function().alpha(),
                    task.function().beta());
            attributes.set_post_ops(function);
        }
        return primitives.forward(input(), wanted(task.input().type()), bias(), output(), attributes);
    }

    /**
     * Without the activation function.
     *
     * @param weights the order of the weights
     */
    F forwardInFloat(memory.desc weights) {
        return primitives.forward(input(), weights, bias(), floatOutput(), OneDnnContext.attributes());
    }

    primitive_desc backwardData() {
        return primitives.backwardData(
                input(), wanted(task.input().type()), output(), forward(), OneDnnContext.attributes());
    }

    primitive_desc backwardWeights() {
        return primitives.backwardWeights(
                input(), wanted(DataType.FLOAT), bias(), output(), forward(), OneDnnContext.attributes());
    }
}
