package org.dl4jamp.onednn.capsule;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.CapsuleStrengthLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.dl4j.ExternalErrors;
import org.dl4jamp.onednn.memory.ChannelAxis;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.ParameterlessTwin;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The lengths {@code [minibatch, capsules]} of capsules {@code [minibatch, capsules, dimensions]}, FP32 with sums in
 * double. Gradients have the factor of DL4J's SameDiff layers. DL4J's are NaN at the length 0, and these are 0.
 */
final class CapsuleStrengthTwin extends ParameterlessTwin<CapsuleStrengthLayer> {
    private static final long serialVersionUID = 1L;

    CapsuleStrengthTwin(NeuralNetConfiguration conf, DataType type, OneDnnContext context) {
        super(conf, type, context, ChannelAxis.SECOND);
    }

    @Override
    protected long[] outputShape() {
        if (input.rank() != 3 || input.isEmpty()) {
            reject();
        }
        return new long[] {input.size(0), input.size(1)};
    }

    /** Returns the numbers of each example, in which a capsule's are as far apart as there are capsules. */
    private Examples examples(INDArray channelsLast) {
        return new Examples(Workspaces.contiguous(channelsLast));
    }

    private static double[] lengths(double[] example, int capsules) {
        double[] lengths = new double[capsules];
        for (int i = 0; i < example.length; i++) {
            lengths[i % capsules] += example[i] * example[i];
        }
        for (int capsule = 0; capsule < capsules; capsule++) {
            lengths[capsule] = Math.sqrt(lengths[capsule]);
        }
        return lengths;
    }

    @Override
    protected void forward(INDArray output, boolean training, LayerWorkspaceMgr workspaceMgr) {
        Examples from = examples(ready(workspaceMgr, ArrayType.FF_WORKING_MEM));
        Examples to = new Examples(output);
        int capsules = (int) output.size(1);
        from.forEach(example -> to.write(example, lengths(from.doubles(example), capsules)));
    }

    @Override
    protected void backward(INDArray epsilon, INDArray next, LayerWorkspaceMgr workspaceMgr) {
        Examples from = examples(ready(workspaceMgr, ArrayType.BP_WORKING_MEM));
        Examples above = new Examples(ready(epsilon, DataType.FLOAT, workspaceMgr, ArrayType.BP_WORKING_MEM));
        Examples to = examples(next);
        int capsules = (int) epsilon.size(1);
        from.forEach(example -> {
            double[] own = from.doubles(example);
            double[] lengths = lengths(own, capsules);
            double[] errors = above.doubles(example);
            for (int i = 0; i < own.length; i++) {
                int capsule = i % capsules;
                own[i] *= lengths[capsule] == 0 ? 0 : ExternalErrors.factor() * errors[capsule] / lengths[capsule];
            }
            to.write(example, own);
        });
    }

    @Override
    public void close() {
        // There is nothing of its own.
    }
}
