package org.dl4jamp.onednn.activation;

import java.util.Arrays;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.BaseActivationFunction;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.INDArrayIndex;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.ops.transforms.Transforms;

/** Activation functions as users write them. */
public final class UsersFunctions {
    private UsersFunctions() {}

    /** {@code height * tanh(slope * x)}, in place. */
    public static final class Scaled extends BaseActivationFunction {
        private static final long serialVersionUID = 1L;

        private double height;
        private double slope;

        public Scaled() {
            this(1, 1);
        }

        public Scaled(double height, double slope) {
            this.height = height;
            this.slope = slope;
        }

        public double getHeight() {
            return height;
        }

        public void setHeight(double height) {
            this.height = height;
        }

        public double getSlope() {
            return slope;
        }

        public void setSlope(double slope) {
            this.slope = slope;
        }

        @Override
        public INDArray getActivation(INDArray in, boolean training) {
            Transforms.tanh(in.muli(slope), false);
            return in.muli(height);
        }

        @Override
        public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
            assertShape(in, epsilon);
            INDArray tanh = Transforms.tanh(in.mul(slope), false);
            return new Pair<>(tanh.muli(tanh).rsubi(1).muli(height * slope).muli(epsilon), null);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Scaled scaled && scaled.height == height && scaled.slope == slope;
        }

        @Override
        public int hashCode() {
            return Double.hashCode(height) + 31 * Double.hashCode(slope);
        }

        @Override
        public String toString() {
            return height + " * tanh(" + slope + " * x)";
        }
    }

    /** Subtracts the mean along axis 1, and returns a new array. */
    public static final class Centered extends BaseActivationFunction {
        private static final long serialVersionUID = 1L;

        private static INDArray centered(INDArray array) {
            return array.sub(array.mean(true, 1).broadcast(array.shape()));
        }

        @Override
        public INDArray getActivation(INDArray in, boolean training) {
            return centered(in);
        }

        @Override
        public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
            return new Pair<>(centered(epsilon), null);
        }
    }

    /** Subtracts the mean of all examples, in place. */
    public static final class AcrossExamples extends BaseActivationFunction {
        private static final long serialVersionUID = 1L;

        @Override
        public INDArray getActivation(INDArray in, boolean training) {
            return in.subi(in.mean(true, 0).broadcast(in.shape()));
        }

        @Override
        public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
            return new Pair<>(epsilon.subi(epsilon.mean(true, 0).broadcast(epsilon.shape())), null);
        }
    }

    /** A sigmoid, computed in place, that keeps its values in FP32 for the backward pass. */
    public static final class Keeping extends BaseActivationFunction {
        private static final long serialVersionUID = 1L;

        private transient INDArray values;

        @Override
        public INDArray getActivation(INDArray in, boolean training) {
            values = Transforms.sigmoid(in, false);
            return values;
        }

        @Override
        public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
            return new Pair<>(values.mul(values.rsub(1)).muli(epsilon), null);
        }
    }

    /** A gated linear unit: half of axis 1 times the sigmoid of the other half, so the output has half of it. */
    public static final class Gated extends BaseActivationFunction {
        private static final long serialVersionUID = 1L;

        private static INDArray half(INDArray array, boolean second) {
            INDArrayIndex[] indices = new INDArrayIndex[array.rank()];
            Arrays.fill(indices, NDArrayIndex.all());
            long size = array.size(1) / 2;
            indices[1] = NDArrayIndex.interval(second ? size : 0, second ? 2 * size : size);
            return array.get(indices);
        }

        @Override
        public INDArray getActivation(INDArray in, boolean training) {
            return half(in, false).mul(Transforms.sigmoid(half(in, true)));
        }

        @Override
        public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
            INDArray gate = Transforms.sigmoid(half(in, true));
            INDArray gradient = in.ulike();
            half(gradient, false).assign(epsilon.mul(gate));
            half(gradient, true).assign(epsilon.mul(half(in, false)).muli(gate.mul(gate.rsub(1))));
            return new Pair<>(gradient, null);
        }
    }

    /** The identity, until it's told to throw. */
    public static final class Failing extends BaseActivationFunction {
        private static final long serialVersionUID = 1L;

        private boolean forward;
        private boolean backward;

        public void fail(boolean inForwardPass, boolean inBackwardPass) {
            forward = inForwardPass;
            backward = inBackwardPass;
        }

        @Override
        public INDArray getActivation(INDArray in, boolean training) {
            if (forward) {
                throw new ArithmeticException("forward");
            }
            return in;
        }

        @Override
        public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
            if (backward) {
                throw new ArithmeticException("backward");
            }
            return new Pair<>(epsilon, null);
        }
    }
}
