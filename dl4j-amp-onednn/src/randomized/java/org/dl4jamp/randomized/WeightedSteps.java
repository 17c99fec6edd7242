package org.dl4jamp.randomized;

import java.util.Collection;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.InputPreProcessor;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.NoParamLayer;
import org.deeplearning4j.nn.conf.memory.LayerMemoryReport;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.AbstractLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.extension.LayerArrays;
import org.dl4jamp.extension.LayerKernel;
import org.dl4jamp.extension.LayerPasses;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.ops.transforms.Transforms;

/**
 * A layer of a user's without parameters, and its kernel: each sequence, a matrix X, becomes {@code tanh(X (X^T X) /
 * columns)}. Masked steps become zero.
 */
public final class WeightedSteps extends NoParamLayer {
    private static final long serialVersionUID = 1L;

    private boolean channelsLast;

    /** For JSON. */
    public WeightedSteps() {}

    WeightedSteps(boolean channelsLast) {
        this.channelsLast = channelsLast;
    }

    public boolean isChannelsLast() {
        return channelsLast;
    }

    public void setChannelsLast(boolean channelsLast) {
        this.channelsLast = channelsLast;
    }

    @Override
    public Layer instantiate(
            NeuralNetConfiguration conf,
            Collection<TrainingListener> listeners,
            int index,
            INDArray parameters,
            boolean initialize,
            DataType type) {
        return SingleLayer.instantiated(new Computing(conf, type), listeners, index, parameters, initialize);
    }

    @Override
    public InputType getOutputType(int index, InputType type) {
        return type;
    }

    @Override
    public InputPreProcessor getPreProcessorForInputType(InputType type) {
        return null;
    }

    @Override
    public LayerMemoryReport getMemoryReport(InputType type) {
        return new LayerMemoryReport();
    }

    @Override
    public boolean equals(Object other) {
        return super.equals(other) && other instanceof WeightedSteps steps && channelsLast == steps.channelsLast;
    }

    @Override
    public int hashCode() {
        return super.hashCode() * 31 + Boolean.hashCode(channelsLast);
    }

    /** Sets masked steps to zero. */
    private INDArray masked(INDArray steps, INDArray mask) {
        if (mask == null) {
            return steps;
        }
        INDArray factors = mask.castTo(steps.dataType());
        return steps.muli(
                channelsLast
                        ? factors.reshape(mask.size(0), mask.size(1), 1)
                        : factors.reshape(mask.size(0), 1, mask.size(1)));
    }

    /** The layer in DL4J, matrix by matrix. */
    public static final class Computing extends AbstractLayer<WeightedSteps> {
        private static final long serialVersionUID = 1L;

        Computing(NeuralNetConfiguration conf, DataType type) {
            super(conf, type);
        }

        private static INDArray values(INDArray x) {
            INDArray sums = x.mmul(x.transpose().mmul(x)).divi(x.columns());
            return Transforms.tanh(sums, false);
        }

        private static INDArray gradient(INDArray x, INDArray epsilon) {
            INDArray values = values(x);
            INDArray above = epsilon.mul(values.mul(values).rsubi(1)).divi(x.columns());
            INDArray ofWeights = x.transpose().mmul(above);
            return above.mmul(x.transpose().mmul(x)).addi(x.mmul(ofWeights.add(ofWeights.transpose())));
        }

        @Override
        public INDArray activate(boolean training, LayerWorkspaceMgr workspaces) {
            assertInputSet(false);
            applyDropOutIfNecessary(training, workspaces);
            INDArray result = workspaces.createUninitialized(ArrayType.ACTIVATIONS, input.dataType(), input.shape());
            for (long i = 0; i < input.size(0); i++) {
                result.slice(i).assign(values(input.slice(i)));
            }
            return layerConf().masked(result, maskArray);
        }

        @Override
        public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaces) {
            assertInputSet(true);
            INDArray above = layerConf().masked(epsilon.dup(), maskArray);
            INDArray next = workspaces.createUninitialized(ArrayType.ACTIVATION_GRAD, input.dataType(), input.shape());
            for (long i = 0; i < input.size(0); i++) {
                next.slice(i).assign(gradient(input.slice(i), above.slice(i)));
            }
            return new Pair<>(new DefaultGradient(), backpropDropOutIfPresent(next));
        }

        @Override
        public boolean isPretrainLayer() {
            return false;
        }

        @Override
        public void clearNoiseWeightParams() {
            // There are no weights.
        }
    }

    /** The layer on the engine, all matrices at once. */
    public static final class Kernel implements LayerKernel<WeightedSteps> {
        @Override
        public Class<WeightedSteps> layerClass() {
            return WeightedSteps.class;
        }

        @Override
        public boolean dropsInput() {
            return true;
        }

        @Override
        public LayerPasses passes(WeightedSteps layer) {
            return new Computed(layer);
        }
    }

    private static final class Computed implements LayerPasses {
        private final WeightedSteps layer;

        private Computed(WeightedSteps layer) {
            this.layer = layer;
        }

        private static INDArray turned(INDArray matrices) {
            return matrices.permute(0, 2, 1);
        }

        private static INDArray weights(INDArray input, LayerArrays arrays) {
            INDArray place = arrays.working(input.size(0), input.size(2), input.size(2));
            return arrays.product(turned(input), input, place);
        }

        private static INDArray values(INDArray input, LayerArrays arrays, INDArray place) {
            arrays.product(input, weights(input, arrays), place).divi(input.size(2));
            return Transforms.tanh(place, false);
        }

        @Override
        public INDArray forward(INDArray input, LayerArrays arrays) {
            return layer.masked(values(input, arrays, arrays.result(input.shape())), arrays.mask());
        }

        @Override
        public INDArray backward(INDArray input, INDArray epsilon, LayerArrays arrays) {
            INDArray values = values(input, arrays, arrays.working(input.shape()));
            INDArray slopes = values.mul(values).rsubi(1).divi(input.size(2));
            INDArray above = layer.masked(epsilon.mul(slopes, arrays.working(input.shape())), arrays.mask());
            INDArray ofWeights =
                    arrays.product(turned(input), above, arrays.working(input.size(0), input.size(2), input.size(2)));
            INDArray both = ofWeights.add(turned(ofWeights));
            INDArray next = arrays.product(input, both, arrays.result(input.shape()));
            return next.addi(arrays.product(above, weights(input, arrays), arrays.working(input.shape())));
        }
    }
}
