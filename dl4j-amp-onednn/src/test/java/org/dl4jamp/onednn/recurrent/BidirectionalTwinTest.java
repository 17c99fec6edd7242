package org.dl4jamp.onednn.recurrent;

import static org.dl4jamp.onednn.Layers.gaussian;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.nd4j.linalg.indexing.NDArrayIndex.all;
import static org.nd4j.linalg.indexing.NDArrayIndex.interval;
import static org.nd4j.linalg.indexing.NDArrayIndex.point;

import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Networks;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine.EngineSession;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.onednn.Agreement;
import org.dl4jamp.onednn.Layers;
import org.dl4jamp.onednn.OneDnnEngine;
import org.dl4jamp.onednn.Types;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

class BidirectionalTwinTest {
    private static final double FLOAT_ERROR = 1e-5;

    @Property(tries = 30)
    void inFp32ItAgreesWithDl4jsLayer(
            @ForAll long seed,
            @ForAll Bidirectional.Mode mode,
            @ForAll Cell cell,
            @ForAll boolean nwc,
            @ForAll boolean masked,
            @ForAll @IntRange(min = 1, max = 20) int nIn,
            @ForAll @IntRange(min = 1, max = 20) int units,
            @ForAll @IntRange(min = 1, max = 4) int minibatch,
            @ForAll @IntRange(min = 1, max = 6) int steps) {
        Random random = new Random(seed);
        RNNFormat format = nwc ? RNNFormat.NWC : RNNFormat.NCW;
        Bidirectional conf = new Bidirectional(mode, cell.layer(nIn, units, format));
        INDArray params = gaussian(random, 0.3, conf.initializer().numParams(conf));
        long nOut = conf.getNOut();
        INDArray input = nwc ? gaussian(random, 1, minibatch, steps, nIn) : gaussian(random, 1, minibatch, nIn, steps);
        INDArray epsilon =
                nwc ? gaussian(random, 1, minibatch, steps, nOut) : gaussian(random, 1, minibatch, nOut, steps);
        INDArray mask = masked ? Nd4j.ones(DataType.FLOAT, minibatch, steps) : null;
        if (masked && steps > 1) {
            mask.putScalar(0, steps - 1, 0);
        }
        org.deeplearning4j.nn.api.Layer dl4j = bidirectional(conf, params);
        dl4j.setMaskArray(mask);
        SingleLayer.Result expected = SingleLayer.run(dl4j, input, epsilon);
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            TwinLayer twin = Layers.twin(session, bidirectional(conf, params), DataType.FLOAT);
            assertInstanceOf(BidirectionalTwin.class, twin.twin().compute());
            twin.setMaskArray(mask);
            SingleLayer.Result actual = SingleLayer.run(twin, input, epsilon);
            Agreement.assertWithin("output", expected.output(), actual.output(), FLOAT_ERROR);
            Agreement.assertWithin("input gradient", expected.inputGradient(), actual.inputGradient(), FLOAT_ERROR);
            Agreement.assertWithin(
                    "gradient",
                    dl4j.getGradientsViewArray().reshape(params.length()),
                    twin.getGradientsViewArray().reshape(params.length()),
                    FLOAT_ERROR);
            assertEquals(
                    expected.gradient().gradientForVariable().keySet(),
                    actual.gradient().gradientForVariable().keySet());
        }
    }

    /** Rounding may go the other way where FP32 sums differ: a fraction of one rounding is left to that. */
    @Property(tries = 20)
    void inBfloat16ItRoundsWhatItsDirectionsRoundAndWhatItMerges(
            @ForAll long seed,
            @ForAll Bidirectional.Mode mode,
            @ForAll Cell cell,
            @ForAll @IntRange(min = 1, max = 20) int nIn,
            @ForAll @IntRange(min = 1, max = 20) int units,
            @ForAll @IntRange(min = 1, max = 4) int minibatch,
            @ForAll @IntRange(min = 1, max = 6) int steps) {
        DataType type = Types.half();
        Random random = new Random(seed);
        Bidirectional conf = new Bidirectional(mode, cell.layer(nIn, units, RNNFormat.NCW));
        INDArray params = gaussian(random, 0.3, conf.initializer().numParams(conf));
        INDArray input = gaussian(random, 1, minibatch, nIn, steps);
        INDArray epsilon = gaussian(random, 1, minibatch, conf.getNOut(), steps);
        long half = params.length() / 2;
        RecurrentReference forwards = new RecurrentReference(type, cell, params.get(interval(0, half)), nIn, units);
        RecurrentReference backwards =
                new RecurrentReference(type, cell, params.get(interval(half, 2 * half)), nIn, units);
        INDArray nothing = Nd4j.zeros(DataType.FLOAT, minibatch, units, steps);
        INDArray one = forwards.run(input, nothing).output();
        INDArray other = reversed(backwards.run(reversed(input), nothing).output());
        INDArray output =
                switch (mode) {
                    case CONCAT -> Nd4j.concat(1, one, other);
                    case ADD -> one.add(other);
                    case AVERAGE -> one.add(other).mul(0.5);
                    case MUL -> one.mul(other);
                };
        INDArray e = epsilon.castTo(DataType.DOUBLE);
        INDArray toOne =
                switch (mode) {
                    case CONCAT -> e.get(all(), interval(0, units), all()).dup();
                    case ADD -> e;
                    case AVERAGE -> e.mul(0.5);
                    case MUL -> rounded(e.mul(other));
                };
        INDArray toOther =
                switch (mode) {
                    case CONCAT ->
                        e.get(all(), interval(units, 2 * units), all()).dup();
                    case ADD -> e;
                    case AVERAGE -> e.mul(0.5);
                    case MUL -> rounded(e.mul(one));
                };
        RecurrentReference.Result ofOne = forwards.run(input, toOne);
        RecurrentReference.Result ofOther = backwards.run(reversed(input), reversed(toOther));
        try (EngineSession session = new OneDnnEngine().session(params.length(), true)) {
            TwinLayer twin = Layers.twin(session, bidirectional(conf, params), type);
            SingleLayer.Result actual = SingleLayer.run(twin, input.castTo(type), epsilon.castTo(type));
            double rounding = Agreement.rounding(type);
            double slack = rounding / 4 + FLOAT_ERROR;
            Agreement.assertWithin("output", output, actual.output(), rounding + slack);
            Agreement.assertWithin(
                    "gradient",
                    Nd4j.concat(0, ofOne.gradient(), ofOther.gradient()),
                    twin.getGradientsViewArray().reshape(params.length()),
                    slack);
            INDArray parts = ofOne.inputGradient()
                    .mul(ofOne.inputGradient())
                    .addi(ofOther.inputGradient().mul(ofOther.inputGradient()));
            INDArray sum = ofOne.inputGradient().add(reversed(ofOther.inputGradient()));
            // Each summand was rounded, which counts for more where they cancel out.
            double cancellation = Math.sqrt(parts.sumNumber().doubleValue())
                    / sum.norm2Number().doubleValue();
            Agreement.assertWithin(
                    "input gradient",
                    sum,
                    actual.inputGradient(),
                    rounding * (1 + cancellation) + slack * cancellation);
        }
    }

    private static INDArray rounded(INDArray array) {
        return array.castTo(DataType.FLOAT).castTo(Types.half()).castTo(DataType.DOUBLE);
    }

    private static INDArray reversed(INDArray sequences) {
        INDArray reversed = sequences.dup();
        long steps = sequences.size(2);
        for (long t = 0; t < steps; t++) {
            reversed.get(all(), all(), point(steps - 1 - t)).assign(sequences.get(all(), all(), point(t)));
        }
        return reversed;
    }

    /** In a network, which has the views of its arrays for such a layer. */
    private static org.deeplearning4j.nn.api.Layer bidirectional(Bidirectional conf, INDArray params) {
        MultiLayerNetwork network = Networks.init(new NeuralNetConfiguration.Builder()
                .list()
                .layer(conf.clone())
                .layer(new RnnLossLayer.Builder(LossFunction.MSE)
                        .activation(Activation.IDENTITY)
                        .build())
                .build());
        network.setParams(params);
        network.initGradientsView();
        return network.getLayer(0);
    }
}
