package org.dl4jamp.randomized;

import java.util.List;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.conf.layers.Cnn3DLossLayer;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.objdetect.Yolo2OutputLayer;
import org.deeplearning4j.nn.conf.ocnn.OCNNOutputLayer;
import org.dl4jamp.randomized.Part.Family;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationRReLU;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.ILossFunction;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;
import org.nd4j.linalg.lossfunctions.impl.LossBinaryXENT;
import org.nd4j.linalg.lossfunctions.impl.LossCosineProximity;
import org.nd4j.linalg.lossfunctions.impl.LossFMeasure;
import org.nd4j.linalg.lossfunctions.impl.LossKLD;
import org.nd4j.linalg.lossfunctions.impl.LossL1;
import org.nd4j.linalg.lossfunctions.impl.LossL2;
import org.nd4j.linalg.lossfunctions.impl.LossMCXENT;
import org.nd4j.linalg.lossfunctions.impl.LossMSE;

/** Output and loss layers. */
final class Heads {
    private Heads() {}

    /** Numbers that a loss takes as labels. */
    enum Labels {
        GAUSSIAN,
        ONE_HOT,
        BINARY,
        SIGNS,
        POSITIVE,
        FAR_FROM_ZERO,
        PROBABILITIES,
        /** Boxes and their classes in some cells of each image, for an output layer with one prior. */
        BOXES(1),
        BOXES_OF_TWO_PRIORS(2),
        BOXES_OF_THREE_PRIORS(3);

        private final int priors;

        Labels() {
            this(0);
        }

        Labels(int priors) {
            this.priors = priors;
        }

        /** Returns how many boxes a cell has, 0 if labels are none of boxes. */
        int priors() {
            return priors;
        }

        private static Labels ofPriors(int priors) {
            return switch (priors) {
                case 1 -> BOXES;
                case 2 -> BOXES_OF_TWO_PRIORS;
                default -> BOXES_OF_THREE_PRIORS;
            };
        }
    }

    /** A loss with an activation function and labels that it works with. */
    record Objective(ILossFunction loss, IActivation function, Labels labels) {
        private static Objective of(LossFunction loss, Activation function, Labels labels) {
            return new Objective(loss.getILossFunction(), function.getActivationFunction(), labels);
        }

        /** Left out: SPARSE_MCXENT, which takes labels of another shape. */
        static Objective draw(Draw draw, Scenario scenario) {
            return switch (draw.between(0, 16)) {
                case 0, 1, 2 -> of(LossFunction.MCXENT, Activation.SOFTMAX, Labels.ONE_HOT);
                case 3 -> of(LossFunction.NEGATIVELOGLIKELIHOOD, Activation.SOFTMAX, Labels.ONE_HOT);
                case 4 ->
                    new Objective(LossFunction.MSE.getILossFunction(), randomSlopes(draw, scenario), Labels.GAUSSIAN);
                case 5, 16 ->
                    of(
                            LossFunction.MSE,
                            draw.of(
                                    Activation.IDENTITY,
                                    Activation.TANH,
                                    Activation.SIGMOID,
                                    Activation.LEAKYRELU,
                                    Activation.RELU,
                                    Activation.SOFTMAX),
                            Labels.GAUSSIAN);
                case 6 -> of(LossFunction.XENT, Activation.SIGMOID, Labels.BINARY);
                case 7 -> of(LossFunction.L2, draw.of(Activation.IDENTITY, Activation.TANH), Labels.GAUSSIAN);
                case 8 ->
                    of(
                            draw.of(LossFunction.L1, LossFunction.MEAN_ABSOLUTE_ERROR),
                            Activation.IDENTITY,
                            Labels.GAUSSIAN);
                case 9 -> of(LossFunction.KL_DIVERGENCE, Activation.SOFTMAX, Labels.PROBABILITIES);
                case 10 -> of(LossFunction.POISSON, Activation.SOFTPLUS, Labels.POSITIVE);
                case 11 -> of(draw.of(LossFunction.HINGE, LossFunction.SQUARED_HINGE), Activation.TANH, Labels.SIGNS);
                case 12 ->
                    of(
                            draw.of(LossFunction.COSINE_PROXIMITY, LossFunction.WASSERSTEIN),
                            Activation.TANH,
                            Labels.GAUSSIAN);
                // Of labels that are far from its pole.
                case 13 -> of(LossFunction.MEAN_ABSOLUTE_PERCENTAGE_ERROR, Activation.SOFTPLUS, Labels.FAR_FROM_ZERO);
                case 14 ->
                    new Objective(
                            new LossFMeasure(draw.real(0.5, 2)),
                            Activation.SIGMOID.getActivationFunction(),
                            Labels.BINARY);
                default -> of(LossFunction.MEAN_SQUARED_LOGARITHMIC_ERROR, Activation.SIGMOID, Labels.PROBABILITIES);
            };
        }

        /**
         * Slopes are drawn in each pass, of which stock DL4J has fewer where micro-batches make a step or a penalty is
         * computed. There's one slope then.
         */
        private static IActivation randomSlopes(Draw draw, Scenario scenario) {
            double least = draw.real(0.1, 0.3);
            boolean otherPasses = scenario.makesOtherSteps() || scenario.has(Option.PENALTY);
            return new ActivationRReLU(least, otherPasses ? least : least + draw.real(0, 0.2));
        }

        /** Gives each output a weight of its own, where the loss has that. */
        Objective weighted(Draw draw, int outputs) {
            double[] weights = draw.uniform(0.5, 2, outputs).toDoubleVector();
            ILossFunction weighted = loss.getClass() == LossMSE.class
                    ? new LossMSE(Nd4j.createFromArray(weights).castTo(org.nd4j.linalg.api.buffer.DataType.FLOAT))
                    : loss.getClass() == LossMCXENT.class
                            ? new LossMCXENT(
                                    Nd4j.createFromArray(weights).castTo(org.nd4j.linalg.api.buffer.DataType.FLOAT))
                            : loss.getClass() == LossBinaryXENT.class
                                    ? new LossBinaryXENT(Nd4j.createFromArray(weights)
                                            .castTo(org.nd4j.linalg.api.buffer.DataType.FLOAT))
                                    : loss;
            return new Objective(weighted, function, labels);
        }
    }

    /** An output layer, and the shape of its labels. */
    record Head(Layer layer, Labels labels) {}

    /**
     * Draws an output or loss layer.
     *
     * @param parameters whether it needs some
     */
    static Head make(Draw draw, InputType type, Scenario scenario, boolean parameters) {
        if (!parameters && !priors(type).isEmpty() && draw.chance(0.5)) {
            return yolo(draw, (InputType.InputTypeConvolutional) type);
        }
        Objective drawn = Objective.draw(draw, scenario);
        // Its loss has to be a mean over examples.
        boolean separable = scenario.has(Option.ACCUMULATION);
        // A loss of all examples together, of one output.
        boolean together = drawn.loss() instanceof LossFMeasure;
        // The cosine of a single number is its sign, which rounding decides around zero.
        boolean sign = drawn.loss() instanceof LossCosineProximity;
        boolean single = type.arrayElementsPerExample() == 1;
        // Signs add up to zero but for rounding, of which AdaMax makes a whole step.
        boolean cancels = drawn.loss() instanceof LossL1 && scenario.updater() == Updaters.ADA_MAX;
        // It clips labels of NaN to ordinary ones: a step fails by its gradients, which only parameters have.
        boolean clips = drawn.loss() instanceof LossKLD && scenario.has(Option.FAILURES) && !parameters;
        Objective objective =
                (together && (separable || Family.of(type) != Family.VECTORS)) || (sign && single) || cancels || clips
                        ? Objective.of(LossFunction.XENT, Activation.SIGMOID, Labels.BINARY)
                        : drawn;
        int outputs = objective.loss() instanceof LossFMeasure ? 1 : draw.between(1, 4);
        if (objective.loss() instanceof LossCosineProximity
                || objective.function().getClass()
                        == Activation.SOFTMAX.getActivationFunction().getClass()) {
            outputs = Math.max(2, outputs);
        }
        boolean weighted = draw.chance(0.15);
        boolean bias = draw.chance(0.85);
        Objective chosen = weighted ? objective.weighted(draw, outputs) : objective;
        return switch (Family.of(type)) {
            case SEQUENCES -> draw.chance(0.25) && !parameters ? rnnLoss(objective, type) : rnnOutput(chosen, outputs);
            case IMAGES -> draw.chance(0.35) && !parameters ? cnnLoss(objective, type) : output(chosen, outputs, bias);
            case VOLUMES ->
                draw.chance(0.35) && !parameters ? cnn3dLoss(objective, type) : output(chosen, outputs, bias);
            default ->
                !separable && draw.chance(0.1)
                        ? oneClass(draw)
                        : !separable && draw.chance(0.3)
                                ? center(draw, outputs)
                                : draw.chance(0.25) && !parameters && !(objective.loss() instanceof LossFMeasure)
                                        ? loss(objective, type)
                                        : output(chosen, outputs, bias);
        };
    }

    /** Returns how many boxes a cell may have: each has five numbers, and at least one class. */
    private static List<Integer> priors(InputType type) {
        if (!(type instanceof InputType.InputTypeConvolutional images)) {
            return List.of();
        }
        return Stream.of(1, 2, 3)
                .filter(count -> images.getChannels() % count == 0 && images.getChannels() / count > 5)
                .toList();
    }

    private static Head yolo(Draw draw, InputType.InputTypeConvolutional type) {
        int count = draw.from(priors(type));
        // Widths and heights in cells.
        INDArray sizes = draw.uniform(0.5, (double) Math.max(type.getHeight(), type.getWidth()), count, 2);
        return new Head(
                new Yolo2OutputLayer.Builder()
                        .boundingBoxPriors(sizes)
                        .lambdaCoord(draw.real(1, 5))
                        .lambdaNoObj(draw.real(0.1, 0.9))
                        .lossClassPredictions(draw.chance(0.4) ? new LossMCXENT() : new LossL2())
                        .build(),
                Labels.ofPriors(count));
    }

    /** Makes a last layer for errors from outside, of which there is one for each of its numbers. */
    static Head withoutLoss(Draw draw, InputType type) {
        int outputs = draw.between(1, 4);
        Layer layer =
                switch (Family.of(type)) {
                    case SEQUENCES ->
                        new LSTM.Builder()
                                .nOut(outputs)
                                .activation(Activation.TANH)
                                .build();
                    default ->
                        new DenseLayer.Builder()
                                .nOut(outputs)
                                .activation(Functions.any(draw))
                                .build();
                };
        return new Head(layer, Labels.GAUSSIAN);
    }

    private static Head output(Objective objective, int outputs, boolean bias) {
        return new Head(
                new OutputLayer.Builder(objective.loss())
                        .nOut(outputs)
                        .hasBias(bias)
                        .activation(objective.function())
                        .build(),
                objective.labels());
    }

    private static Head loss(Objective objective, InputType type) {
        long size = ((InputType.InputTypeFeedForward) type).getSize();
        return new Head(
                new LossLayer.Builder(objective.loss())
                        .nIn(size)
                        .nOut(size)
                        .activation(objective.function())
                        .build(),
                objective.labels());
    }

    /** Its loss counts what is below a threshold: far below or above it, since rounding decides in between. */
    private static Head oneClass(Draw draw) {
        return new Head(
                new OCNNOutputLayer.Builder()
                        .nu(draw.real(0.05, 0.9))
                        .hiddenLayerSize(draw.between(1, 6))
                        .windowSize(draw.between(4, 40))
                        .initialRValue(draw.of(-30, 30))
                        .activation(draw.of(
                                        Activation.IDENTITY,
                                        Activation.SIGMOID,
                                        Activation.TANH,
                                        Activation.RELU,
                                        Activation.SOFTMAX)
                                .getActivationFunction())
                        .build(),
                Labels.GAUSSIAN);
    }

    private static Head center(Draw draw, int outputs) {
        CenterLossOutputLayer.Builder builder = new CenterLossOutputLayer.Builder(LossFunction.MCXENT)
                .alpha(draw.real(0.05, 0.5))
                .lambda(draw.real(0.01, 0.3));
        return new Head(
                builder.nOut(Math.max(2, outputs))
                        .activation(Activation.SOFTMAX)
                        .build(),
                Labels.ONE_HOT);
    }

    /** With a bias: without one it throws in inference. */
    private static Head rnnOutput(Objective objective, int outputs) {
        return new Head(
                new RnnOutputLayer.Builder(objective.loss())
                        .nOut(outputs)
                        .activation(objective.function())
                        .build(),
                objective.labels());
    }

    private static Head rnnLoss(Objective objective, InputType type) {
        return new Head(
                new RnnLossLayer.Builder(objective.loss())
                        .dataFormat(((InputType.InputTypeRecurrent) type).getFormat())
                        .activation(objective.function())
                        .build(),
                objective.labels());
    }

    private static Head cnnLoss(Objective objective, InputType type) {
        CnnLossLayer.Builder builder = new CnnLossLayer.Builder(objective.loss());
        builder.activation(objective.function());
        if (type instanceof InputType.InputTypeConvolutional images) {
            builder.format(images.getFormat());
        }
        return new Head(builder.build(), objective.labels());
    }

    private static Head cnn3dLoss(Objective objective, InputType type) {
        Cnn3DLossLayer.Builder builder =
                new Cnn3DLossLayer.Builder(((InputType.InputTypeConvolutional3D) type).getDataFormat());
        builder.lossFunction(objective.loss());
        builder.activation(objective.function());
        return new Head(builder.build(), objective.labels());
    }
}
