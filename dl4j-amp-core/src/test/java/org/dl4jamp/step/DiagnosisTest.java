package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.UpdaterCall;
import org.dl4jamp.engine.StepKernels;
import org.dl4jamp.gradient.GradientParts;
import org.dl4jamp.scale.Skip;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** The reason to skip a backward pass: the first cause that there is of batch, loss and scale. */
class DiagnosisTest {
    private static final String FIRST = "parameter \"b\" of layer \"layer1\"";

    private final MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
    private final ScaleUpdates scale = new ScaleUpdates(new StaticLossScaler(1024), Optional.empty());
    private final BackwardResults diagnosis = SmallSteps.results(network, scale);
    private final INDArray features = SmallSteps.data(4).getFeatures();

    @BeforeEach
    void setBatch() {
        network.setInput(features);
        network.setScore(0.5);
        network.initGradientsView();
    }

    private void spoilGradients() {
        // The last number is of the output layer's biases, the first one of the first layer's weights.
        INDArray view = network.getGradientsViewArray();
        view.putScalar(0, Float.NaN);
        view.putScalar(view.length() - 1, Float.POSITIVE_INFINITY);
    }

    @Test
    void featuresComeFirstAndMakeTheScoreNaN() {
        features.putScalar(1, 2, Float.NaN);
        diagnosis.begins(null, Nd4j.createFromArray(Float.NaN));
        spoilGradients();
        assertEquals(
                new Skip(
                        Skip.Cause.BATCH,
                        "features 0 contain NaN at [1, 2] in the batch of iteration 7",
                        Optional.empty()),
                diagnosis.of(7, Double.NaN));
        assertEquals(Double.NaN, network.score());
    }

    @Test
    void labelsComeNextUntilTheBatchIsOver() {
        diagnosis.begins(null, Nd4j.createFromArray(1, Float.NEGATIVE_INFINITY));
        assertEquals(
                new Skip(
                        Skip.Cause.BATCH,
                        "labels 0 contain -Infinity at [1] in the batch of iteration 7",
                        Optional.empty()),
                diagnosis.of(7, 0.5));
        UpdaterCall byHand = new UpdaterCall(new DefaultGradient(), 7, 0, 4, LayerWorkspaceMgr.noWorkspaces());
        GradientParts.Parted finite = new GradientParts.Parted(null, Nd4j.zeros(1), List.of(), List.of(), List.of());
        diagnosis.takeByHand(byHand, finite, StepKernels.nd4j(), false);
        assertEquals(Skip.Cause.OVERFLOW, diagnosis.of(7, 0.5).cause());
    }

    @Test
    void thenTheLoss() {
        diagnosis.begins(null, null);
        spoilGradients();
        for (double loss : new double[] {Double.NaN, Double.POSITIVE_INFINITY}) {
            assertEquals(
                    new Skip(
                            Skip.Cause.LOSS,
                            "the loss of iteration 7 is " + loss
                                    + " at the finite loss scale 1024.0, with finite features and labels",
                            Optional.empty()),
                    diagnosis.of(7, loss));
        }
        assertEquals(0.5, network.score());
    }

    @Test
    void thenTheScaleWithTheParameterThatWasTheFirstInTheBackwardPass() {
        spoilGradients();
        assertEquals(
                new Skip(
                        Skip.Cause.OVERFLOW,
                        "gradients overflowed in iteration 7 at loss scale 1024.0",
                        Optional.of(FIRST)),
                diagnosis.of(7, 0.5));
    }

    @Test
    void inAPauseNothingIsScaled() {
        scale.pause(true);
        spoilGradients();
        assertEquals(
                new Skip(
                        Skip.Cause.UNSCALED,
                        "gradients weren't finite in iteration 7, in a pause, in FP32",
                        Optional.of(FIRST)),
                diagnosis.of(7, 0.5));
        assertTrue(diagnosis.of(7, Double.NaN).what().contains("at the finite loss scale 1.0,"));
    }

    @Test
    void aPassThatIsNeverScaledSaysWhatWasNotFiniteInIt() {
        spoilGradients();
        assertEquals(
                new Skip(Skip.Cause.UNSCALED, "errors weren't finite in iteration 7", Optional.of(FIRST)),
                diagnosis.ofUnscaled(7, "errors"));
    }

    @Test
    void onlyAnEngineThatMayLoseNaNHasFeaturesLookedAtInEveryStep() {
        assertFalse(diagnosis.mayHideFeatures());
        features.putScalar(0, Float.NaN);
        assertFalse(diagnosis.mayHideFeatures(), "stock DL4J loses nothing");
        diagnosis.use(array -> array == features);
        assertTrue(diagnosis.mayHideFeatures());
        features.putScalar(0, 1);
        assertFalse(diagnosis.mayHideFeatures(), "what the engine takes for special may be finite");
        network.setInput(null);
        assertFalse(diagnosis.mayHideFeatures());
    }
}
