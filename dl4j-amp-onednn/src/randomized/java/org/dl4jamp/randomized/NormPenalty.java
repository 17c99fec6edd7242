package org.dl4jamp.randomized;

import java.util.Map;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Adds the gradient of a penalty on the gradient's norm to that of stock DL4J: its difference between two points that
 * are a radius apart along the gradient (Zhao, Zhang and Hu, 2022).
 */
final class NormPenalty extends BaseTrainingListener {
    private final Scenario scenario;

    NormPenalty(Scenario scenario) {
        this.scenario = scenario;
    }

    @Override
    public void onGradientCalculation(Model model) {
        if (!GradientClipping.isSupervised(model)) {
            return;
        }
        double score = model.score();
        INDArray parameters = model.params().dup();
        INDArray first = model.getGradientsViewArray().dup();
        Map<String, INDArray> gradients = GradientClipping.gradients(model);
        double norm = GradientClipping.norm(gradients, 1);
        if (norm > 0) {
            Map<String, INDArray> table = model.paramTable();
            gradients.forEach((name, gradient) -> table.get(name).addi(gradient.mul(scenario.penaltyRadius() / norm)));
        }
        model.computeGradientAndScore(LayerWorkspaceMgr.noWorkspaces());
        model.params().assign(parameters);
        double weight = scenario.penalty() / scenario.penaltyRadius();
        Map<String, INDArray> second = GradientClipping.gradients(model);
        second.replaceAll((name, gradient) -> gradient.mul(weight));
        model.getGradientsViewArray().assign(first);
        GradientClipping.gradients(model)
                .forEach((name, gradient) -> gradient.muli(1 - weight).addi(second.get(name)));
        setScore(model, score);
    }

    private static void setScore(Model model, double score) {
        if (model instanceof MultiLayerNetwork net) {
            net.setScore(score);
        } else {
            ((ComputationGraph) model).setScore(score);
        }
    }
}
