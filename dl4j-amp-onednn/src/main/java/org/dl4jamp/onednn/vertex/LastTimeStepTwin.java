package org.dl4jamp.onednn.vertex;

import java.util.Arrays;
import java.util.Optional;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** The last time step of each sequence {@code [minibatch, size, time]}; with a mask, the last that counts. */
final class LastTimeStepTwin extends VertexTwin {
    private static final long serialVersionUID = 1L;

    private final transient NetworkInput masked;
    /** Those of the last forward pass. */
    private transient int[] lastSteps;

    /** @param input the name of the network's input with the mask */
    LastTimeStepTwin(VertexRequest request, String input, OneDnnContext context) {
        super(request, context);
        this.masked = NetworkInput.of(request, input);
    }

    @Override
    protected boolean covers(INDArray[] inputs) {
        return inputs.length == 1 && inputs[0].rank() == 3 && masked.maskFits(inputs[0]);
    }

    @Override
    protected Optional<long[]> outputShape(INDArray[] inputs) {
        return Optional.of(new long[] {inputs[0].size(0), inputs[0].size(1)});
    }

    @Override
    protected INDArray forward(INDArray[] inputs, boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray sequences = rows(inputs[0], workspaceMgr, ArrayType.FF_WORKING_MEM);
        INDArray output = create(workspaceMgr, ArrayType.ACTIVATIONS, sequences.size(0), sequences.size(1));
        lastSteps = lastSteps(masked.mask(), (int) sequences.size(0), (int) sequences.size(2));
        TimeSteps from = new TimeSteps(sequences);
        TimeSteps to = new TimeSteps(output);
        for (int example = 0; example < lastSteps.length; example++) {
            from.copy(example, lastSteps[example], to, 0);
        }
        return output;
    }

    /** Returns, as DL4J does, the first of the time steps whose number times mask is largest. */
    private static int[] lastSteps(INDArray mask, int examples, int steps) {
        int[] last = new int[examples];
        if (mask == null) {
            Arrays.fill(last, steps - 1);
            return last;
        }
        // As DL4J does, for the random numbers behind it: ND4J's linspace is a random operation.
        Nd4j.linspace(0, steps - 1, steps, mask.dataType());
        double[] numbers = NetworkInput.numbers(mask);
        for (int example = 0; example < examples; example++) {
            double largest = 0;
            for (int step = 1; step < steps; step++) {
                double number = step * numbers[example * steps + step];
                if (number > largest) {
                    largest = number;
                    last[example] = step;
                }
            }
        }
        return last;
    }

    @Override
    protected INDArray[] backward(INDArray[] inputs, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray above = rows(epsilon, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray gradient = sequences(inputs[0], workspaceMgr, ArrayType.ACTIVATION_GRAD);
        Workspaces.clear(gradient);
        TimeSteps from = new TimeSteps(above);
        TimeSteps to = new TimeSteps(gradient);
        for (int example = 0; example < lastSteps.length; example++) {
            from.copy(example, 0, to, lastSteps[example]);
        }
        return new INDArray[] {gradient};
    }
}
