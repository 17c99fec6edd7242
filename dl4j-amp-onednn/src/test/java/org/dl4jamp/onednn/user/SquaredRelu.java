package org.dl4jamp.onednn.user;

import java.util.Collection;
import java.util.concurrent.atomic.AtomicInteger;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.extension.LayerArrays;
import org.dl4jamp.extension.LayerKernel;
import org.dl4jamp.extension.LayerPasses;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.ops.transforms.Transforms;

/** A layer of a user's, {@code max(x W + b, 0)^2}, with its kernel. */
public class SquaredRelu extends DenseLayer {
    private static final long serialVersionUID = 1L;

    public SquaredRelu() {
        // For JSON.
    }

    public SquaredRelu(long units) {
        setNOut(units);
    }

    @Override
    public Layer instantiate(
            NeuralNetConfiguration conf,
            Collection<TrainingListener> listeners,
            int index,
            INDArray params,
            boolean initialize,
            DataType type) {
        Computing layer = new Computing(conf, type);
        layer.setIndex(index);
        layer.setListeners(listeners);
        layer.setParamsViewArray(params);
        layer.setParamTable(initializer().init(conf, params, initialize));
        return layer;
    }

    public static class Computing extends org.deeplearning4j.nn.layers.feedforward.dense.DenseLayer {
        private static final long serialVersionUID = 1L;

        public Computing(NeuralNetConfiguration conf, DataType type) {
            super(conf, type);
        }

        @Override
        public INDArray activate(boolean training, LayerWorkspaceMgr workspaces) {
            INDArray relu = Transforms.relu(preOutput(training, workspaces), false);
            return workspaces.leverageTo(ArrayType.ACTIVATIONS, relu.muli(relu));
        }

        @Override
        public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaces) {
            INDArray delta = Transforms.relu(preOutput(true, workspaces), false)
                    .muli(epsilon)
                    .muli(2);
            gradientViews.get("W").assign(input.transpose().mmul(delta));
            gradientViews.get("b").assign(delta.sum(true, 0));
            Gradient gradient = new DefaultGradient();
            gradientViews.forEach(gradient::setGradientFor);
            INDArray next = backpropDropOutIfPresent(delta.mmul(getParam("W").transpose()));
            return new Pair<>(gradient, workspaces.leverageTo(ArrayType.ACTIVATION_GRAD, next));
        }
    }

    public static class Kernel implements LayerKernel<SquaredRelu> {
        @Override
        public Class<SquaredRelu> layerClass() {
            return SquaredRelu.class;
        }

        /** Counts the forward passes of all layers. */
        static final AtomicInteger PASSES = new AtomicInteger();

        @Override
        public boolean dropsInput() {
            return true; // as DenseLayer does
        }

        @Override
        public LayerPasses passes(SquaredRelu layer) {
            return new LayerPasses() {
                private INDArray relu(INDArray input, LayerArrays arrays) {
                    INDArray sums = arrays.working(input.size(0), layer.getNOut());
                    arrays.product(input, arrays.parameter("W"), sums);
                    return Transforms.relu(sums.addiRowVector(arrays.parameter("b")), false);
                }

                @Override
                public INDArray forward(INDArray input, LayerArrays arrays) {
                    PASSES.incrementAndGet();
                    INDArray relu = relu(input, arrays);
                    return relu.mul(relu, arrays.result(relu.shape()));
                }

                @Override
                public INDArray backward(INDArray input, INDArray epsilon, LayerArrays arrays) {
                    INDArray delta = relu(input, arrays).muli(epsilon).muli(2);
                    arrays.product(input.transpose(), delta, arrays.gradient("W"));
                    arrays.gradient("b").assign(delta.sum(true, 0));
                    return arrays.product(delta, arrays.parameter("W").transpose(), arrays.result(input.shape()));
                }
            };
        }
    }
}
