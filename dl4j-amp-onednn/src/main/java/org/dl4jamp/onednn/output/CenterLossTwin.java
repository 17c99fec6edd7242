package org.dl4jamp.onednn.output;

import org.deeplearning4j.exception.DL4JInvalidInputException;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.params.CenterLossParamInitializer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.Noise;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An output layer whose loss has a second part (Wen et al., 2016): the squared distances of the inputs from the centers
 * of their classes. Distances and centers are FP32. DL4J looks up the center of each example three times in a step;
 * here that is done once.
 */
final class CenterLossTwin extends OutputTwin<CenterLossOutputLayer> {
    private static final long serialVersionUID = 1L;

    private static final String CENTERS = CenterLossParamInitializer.CENTER_KEY;

    private final transient OneDnnContext context;
    private double squares;

    CenterLossTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context);
        this.context = context;
    }

    @Override
    protected INDArray getLabels2d(LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        long outputs = getParam(CENTERS).size(0);
        if (labels.size(1) != outputs) {
            throw new DL4JInvalidInputException("Labels array numColumns (size(1) = " + labels.size(1)
                    + ") does not match output layer number of outputs (nOut = " + outputs + ") " + layerId());
        }
        return labels;
    }

    /** Returns how far each input is from the center of its class, {@code [minibatch, nIn]}. */
    private INDArray distances(INDArray classes, LayerWorkspaceMgr workspaceMgr, ArrayType place) {
        INDArray inputs = context.copies().channelsLast(input, DataType.FLOAT, workspaceMgr, place);
        INDArray distances = Workspaces.dense(workspaceMgr, place, DataType.FLOAT, inputs.shape());
        return classes.mmuli(getParam(CENTERS), distances).rsubi(inputs);
    }

    private INDArray classes() {
        return labels.castTo(DataType.FLOAT);
    }

    private static double squares(INDArray distances) {
        double norm = distances.norm2Number().doubleValue();
        return norm * norm;
    }

    @Override
    public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        Pair<Gradient, INDArray> result = super.backpropGradient(epsilon, workspaceMgr);
        INDArray classes = classes();
        INDArray distances = distances(classes, workspaceMgr, ArrayType.BP_WORKING_MEM);
        squares = squares(distances);
        INDArray view = gradientViews.get(CENTERS);
        result.getFirst().setGradientFor(CENTERS, view.assign(ofCenters(classes, distances)));
        INDArray next = result.getSecond();
        next.addi(distances.muli(layerConf().getLambda()).castTo(next.dataType()));
        clearNoiseWeightParams();
        return result;
    }

    /** Returns the update of the centers, or for gradient checks, if they are configured, the gradient. */
    private INDArray ofCenters(INDArray classes, INDArray distances) {
        INDArray sums = classes.transpose().mmul(distances).muli(-layerConf().getAlpha());
        if (layerConf().getGradientCheck()) {
            return sums.muli(layerConf().getLambda());
        }
        return sums.diviColumnVector(classes.sum(0).reshape(classes.size(1), 1).addi(1));
    }

    private double score(double sum, double squaresOfDistances, double regularization) {
        score = (sum + layerConf().getLambda() / 2 * squaresOfDistances) / getInputMiniBatchSize() + regularization;
        return score;
    }

    @Override
    public boolean scoresBackwardPass() {
        return super.scoresBackwardPass() && !Noise.isIn(layerConf());
    }

    @Override
    public double scoreOfBackwardPass(double fullNetworkRegScore) {
        return score(sumOfBackwardPass(), squares, fullNetworkRegScore);
    }

    @Override
    public double computeScore(double fullNetRegTerm, boolean training, LayerWorkspaceMgr workspaceMgr) {
        if (input == null || labels == null) {
            // DL4J's layer throws.
            return super.computeScore(fullNetRegTerm, training, workspaceMgr);
        }
        INDArray sums = preOutput2d(training, workspaceMgr);
        double ofDistances = squares(distances(classes(), workspaceMgr, ArrayType.FF_WORKING_MEM));
        double ofClasses = layerConf()
                .getLossFn()
                .computeScore(
                        getLabels2d(workspaceMgr, ArrayType.FF_WORKING_MEM),
                        sums,
                        layerConf().getActivationFn(),
                        maskArray,
                        false);
        return score(ofClasses, ofDistances, fullNetRegTerm);
    }

    /** Adds distances to a column of losses, as DL4J's layer does: that throws, unless there is a single input. */
    @Override
    public INDArray computeScoreForExamples(double fullNetRegTerm, LayerWorkspaceMgr workspaceMgr) {
        INDArray scores = super.computeScoreForExamples(0, workspaceMgr);
        INDArray distances = distances(classes(), workspaceMgr, ArrayType.FF_WORKING_MEM);
        return scores.addi(distances.muli(layerConf().getLambda() / 2)).addi(fullNetRegTerm);
    }
}
