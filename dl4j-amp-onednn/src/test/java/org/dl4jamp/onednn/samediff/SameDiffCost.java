package org.dl4jamp.onednn.samediff;

import java.util.Arrays;
import java.util.Map;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.samediff.SDLayerParams;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.nn.weights.WeightInitUtil;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.autodiff.samediff.SDVariable;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** Prints what a training step of two layers of SameDiff operations takes in stock DL4J and on this engine, in ms. */
class SameDiffCost {
    private static final int STEPS = 31;

    /** A dense layer of a user's, in SameDiff. */
    public static class Dense extends SameDiffLayer {
        private static final long serialVersionUID = 1L;

        private int units;

        public Dense() {
            // For JSON.
        }

        Dense(int units) {
            this.units = units;
        }

        public int getUnits() {
            return units;
        }

        public void setUnits(int units) {
            this.units = units;
        }

        @Override
        public void defineParameters(SDLayerParams params) {
            params.addWeightParam("W", units, units);
            params.addBiasParam("b", 1, units);
        }

        @Override
        public void initializeParameters(Map<String, INDArray> params) {
            params.values()
                    .forEach(each ->
                            WeightInitUtil.initWeights(units, units, each.shape(), WeightInit.XAVIER, null, each));
        }

        @Override
        public SDVariable defineLayer(
                SameDiff sameDiff, SDVariable layerInput, Map<String, SDVariable> paramTable, SDVariable mask) {
            return sameDiff.nn().tanh(layerInput.mmul(paramTable.get("W")).add(paramTable.get("b")));
        }

        @Override
        public InputType getOutputType(int layerIndex, InputType inputType) {
            return InputType.feedForward(units);
        }
    }

    private static MultiLayerNetwork network(int units) {
        return Networks.init(Networks.builder(new Sgd(0.01))
                .list()
                .layer(new Dense(units))
                .layer(new Dense(units))
                .layer(Networks.softmax(10))
                .setInputType(InputType.feedForward(units))
                .build());
    }

    private static double fit(MultiLayerNetwork network, DataSet data) {
        long start = System.nanoTime();
        network.fit(data);
        return (System.nanoTime() - start) / 1e6;
    }

    private static double median(double[] numbers) {
        Arrays.sort(numbers);
        return numbers[numbers.length / 2];
    }

    @Test
    void stepsInTurn() {
        AmpConfig config =
                AmpConfig.builder().engine("onednn").precision(Precision.FLOAT).build();
        for (int units : new int[] {128, 512, 1024, 2048}) {
            DataSet data =
                    new DataSet(Nd4j.randn(128, units), Nd4j.ones(128, 10).div(10));
            MultiLayerNetwork stock = network(units);
            MultiLayerNetwork mixed = network(units);
            double[] own = new double[STEPS];
            double[] engine = new double[STEPS];
            try (MixedPrecision amp = MixedPrecision.enable(mixed, config)) {
                for (int warm = 0; warm < 5; warm++) {
                    fit(stock, data);
                    fit(mixed, data);
                }
                for (int step = 0; step < STEPS; step++) {
                    own[step] = fit(stock, data);
                    engine[step] = fit(mixed, data);
                }
                System.out.printf("%d units: %.1f, %s %.1f%n", units, median(own), amp.engine(), median(engine));
            }
        }
    }
}
