package org.dl4jamp.benchmarks.floor;

import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Parameter;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.blueprint.Tensors;

/**
 * A product's weights and bias with those of the batch normalization behind it in them: scale (W x + b - mean) /
 * sqrt(variance + epsilon) + shift is a product as well.
 */
record FoldedProduct(Tensor weights, Tensor bias) {
    static FoldedProduct of(Stage stage, Tensors tensors) {
        Tensor weights = tensors.get(stage.head(), Parameter.WEIGHTS);
        Tensor bias = tensors.get(stage.head(), Parameter.BIAS);
        return stage.normalization()
                .map(by -> folded(weights, bias, by, tensors))
                .orElseGet(() -> new FoldedProduct(weights, bias));
    }

    private static FoldedProduct folded(Tensor weights, Tensor bias, Operation.BatchNormalization by, Tensors tensors) {
        float[] scale = tensors.get(by, Parameter.SCALE).values();
        float[] shift = tensors.get(by, Parameter.SHIFT).values();
        float[] mean = tensors.get(by, Parameter.MEAN).values();
        float[] variance = tensors.get(by, Parameter.VARIANCE).values();
        float[] foldedWeights = weights.values().clone();
        float[] foldedBias = bias.values().clone();
        int inputs = foldedWeights.length / foldedBias.length;
        for (int channel = 0; channel < foldedBias.length; channel++) {
            double factor = scale[channel] / Math.sqrt(variance[channel] + by.epsilon());
            foldedBias[channel] = (float) (factor * ((double) foldedBias[channel] - mean[channel]) + shift[channel]);
            for (int i = channel * inputs; i < (channel + 1) * inputs; i++) {
                foldedWeights[i] = (float) (factor * foldedWeights[i]);
            }
        }
        return new FoldedProduct(new Tensor(weights.shape(), foldedWeights), new Tensor(bias.shape(), foldedBias));
    }
}
