package org.dl4jamp.randomized;

import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.util.ModelSerializer;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The methods of both kinds of network. */
interface Net {
    Model model();

    /**
     * Returns whether there is anything to train: frozen layers count in DL4J's {@code numParams}, and aren't in
     * {@code params}.
     */
    default boolean hasParameters() {
        INDArray parameters = model().params();
        return parameters != null && !parameters.isEmpty();
    }

    /** One call of {@code fit}. */
    void fit(Batch batch, int variant);

    /** Epochs of an iterator. */
    void fit(List<Batch> batches, int epochs);

    Map<String, INDArray> output(Batch batch, boolean training, boolean masks);

    Map<String, INDArray> feedForward(Batch batch, boolean training);

    /** Activations of some layers only. */
    Map<String, INDArray> selected(Batch batch, Draw draw, boolean training);

    double score(Batch batch, boolean training);

    /** Gradients of all parameters, and the score. */
    Map<String, INDArray> gradients(Batch batch, int variant);

    /**
     * Makes a step with errors from outside, of which the batch has its labels, as programs with losses of their own
     * do.
     *
     * @return gradients of all parameters, and of the features where DL4J returns them
     */
    Map<String, INDArray> externalStep(Batch batch);

    /** Pretrains the layers of which DL4J does so with the right input. */
    void pretrain(Batch batch);

    /** Returns the gradients of all parameters, or the updates that were left there; may be null. */
    default INDArray gradientsView() {
        return model().getGradientsViewArray();
    }

    Map<String, INDArray> timeSteps(Batch batch, boolean whole);

    Map<String, INDArray> storedState(Batch batch, boolean training);

    Map<String, INDArray> states();

    void clearState();

    default INDArray updaterState() {
        return ((NeuralNetwork) model()).updaterState();
    }

    void setLearningRate(double rate);

    int epochs();

    void countEpoch();

    /** Returns DL4J's count of iterations. */
    int iterations();

    /** Sets DL4J's count of iterations before the next step. */
    void setIterations(int iterations);

    /** Returns a clone without listeners. */
    Net copy();

    /** Has these listeners called, and no others. */
    default void listen(TrainingListener... listeners) {
        model().setListeners(listeners);
    }

    /** Returns a copy in double precision. */
    Net inDouble();

    default void save(File file) throws IOException {
        ModelSerializer.writeModel(model(), file, true);
    }

    Net restored(File file) throws IOException;

    Net restoredInMixedPrecision(File file) throws IOException;
}
