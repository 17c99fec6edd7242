package org.dl4jamp.onednn.vertex;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.bytedeco.dnnl.global.dnnl;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex.Op;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.dl4jamp.engine.VertexRequest;
import org.dl4jamp.onednn.activation.EltwiseKernels;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.Combination;
import org.dl4jamp.onednn.primitive.Eltwise;
import org.dl4jamp.onednn.primitive.KernelCache;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.twin.FusedRelu;
import org.dl4jamp.onednn.twin.GroupSum;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Sum, difference, product, average or maximum of arrays of one shape, or of two arrays of which one is repeated. Other
 * shapes and broadcast maxima are left to DL4J's vertex.
 */
final class ElementWiseTwin extends VertexTwin implements FusedRelu.Partner {
    private static final long serialVersionUID = 1L;

    private final Op operation;
    private final transient KernelCache<Combination.Task, Combination> combinations =
            new KernelCache<>(KernelCache.SHAPES);
    private final transient KernelCache<EltwiseTask, EltwiseKernels> functions = new KernelCache<>(KernelCache.SHAPES);

    private final transient Broadcasting broadcasting;

    private transient FusedRelu relu;
    private transient GroupSum sum;

    private record EltwiseTask(Eltwise function, Layout layout) {}

    ElementWiseTwin(VertexRequest request, Op operation, OneDnnContext context) {
        super(request, context);
        this.operation = operation;
        this.broadcasting = new Broadcasting(context, request.name());
    }

    @Override
    public void fuse(FusedRelu with) {
        relu = with;
    }

    /**
     * Makes it return, in inference, the sum from the head of a group. If the head couldn't add, this vertex adds and
     * applies the group's function.
     *
     * @param summand number of the input that isn't the head's
     */
    void follow(GroupSum with, int summand) {
        sum = with;
        with.between(master()::getInputs, summand);
    }

    @Override
    Optional<INDArray> madeAlready(INDArray[] inputs) {
        return sum != null && sum.isMade() ? Optional.of(inputs[sum.product()]) : Optional.empty();
    }

    @Override
    INDArray afterDl4j(INDArray output) {
        return sum == null ? output : sum.applyByNd4j(output);
    }

    @Override
    protected boolean covers(INDArray[] inputs) {
        boolean computable = operation == Op.Subtract ? inputs.length == 2 : inputs.length > 1;
        return computable && (areOfOneShape(inputs) || Broadcasting.covers(operation, inputs));
    }

    private static boolean areOfOneShape(INDArray[] inputs) {
        return Arrays.stream(inputs).allMatch(inputs[0]::equalShapes);
    }

    @Override
    protected Optional<long[]> outputShape(INDArray[] inputs) {
        INDArray whole = areOfOneShape(inputs) ? inputs[0] : inputs[Broadcasting.whole(inputs)];
        return Optional.of(whole.shape());
    }

    @Override
    protected INDArray forward(INDArray[] inputs, boolean training, LayerWorkspaceMgr workspaceMgr) {
        INDArray output =
                create(workspaceMgr, ArrayType.ACTIVATIONS, outputShape(inputs).orElseThrow());
        boolean fused = training && relu != null;
        List<Eltwise> after = new ArrayList<>();
        if (operation == Op.Average) {
            after.add(Eltwise.linear(1.0 / inputs.length, 0));
        }
        if (fused) {
            after.add(Eltwise.RELU);
            relu.made(output, false);
        }
        if (sum != null && sum.function() != null) {
            after.add(sum.function());
        }
        List<INDArray> ordered = ordered(inputs, workspaceMgr, ArrayType.FF_WORKING_MEM);
        if (areOfOneShape(inputs)) {
            combine(function(), after, ordered, output);
        } else {
            broadcasting.forward(operation, ordered, Broadcasting.whole(inputs), after, output);
        }
        return output;
    }

    private dnnl.algorithm function() {
        return switch (operation) {
            case Add, Average -> dnnl.algorithm.binary_add;
            case Subtract -> dnnl.algorithm.binary_sub;
            case Product -> dnnl.algorithm.binary_mul;
            case Max -> dnnl.algorithm.binary_max;
        };
    }

    private List<INDArray> ordered(INDArray[] arrays, LayerWorkspaceMgr workspaceMgr, ArrayType working) {
        return Arrays.stream(arrays)
                .map(array -> channelsLast(array, workspaceMgr, working))
                .toList();
    }

    private void combine(dnnl.algorithm function, List<Eltwise> after, List<INDArray> arrays, INDArray result) {
        Combination.Task task = new Combination.Task(function, arrays.size(), after, layout(result.shape()));
        combinations
                .get(task, () -> Combination.make(context(), request().name(), task))
                .run(arrays, result);
    }

    @Override
    protected INDArray[] backward(INDArray[] inputs, INDArray epsilon, LayerWorkspaceMgr workspaceMgr) {
        INDArray above = channelsLast(epsilon, workspaceMgr, ArrayType.BP_WORKING_MEM);
        INDArray[] gradients = new INDArray[inputs.length];
        for (int i = 0; i < inputs.length; i++) {
            gradients[i] = create(workspaceMgr, ArrayType.ACTIVATION_GRAD, inputs[i].shape());
        }
        if (!areOfOneShape(inputs)) {
            broadcast(ordered(inputs, workspaceMgr, ArrayType.BP_WORKING_MEM), above, gradients, workspaceMgr);
            return gradients;
        }
        switch (operation) {
            case Add ->
                Arrays.stream(gradients).forEach(gradient -> context().copies().copy(above, gradient));
            case Average -> Arrays.stream(gradients).forEach(gradient -> scale(above, 1.0 / inputs.length, gradient));
            case Subtract -> {
                context().copies().copy(above, gradients[0]);
                scale(above, -1, gradients[1]);
            }
            case Product -> multiply(ordered(inputs, workspaceMgr, ArrayType.BP_WORKING_MEM), above, gradients);
            case Max -> choose(ordered(inputs, workspaceMgr, ArrayType.BP_WORKING_MEM), above, gradients, workspaceMgr);
        }
        return gradients;
    }

    private void broadcast(
            List<INDArray> inputs, INDArray above, INDArray[] gradients, LayerWorkspaceMgr workspaceMgr) {
        int whole = Broadcasting.whole(inputs.toArray(INDArray[]::new));
        INDArray terms = above;
        if (operation == Op.Product) {
            broadcasting.multiply(above, inputs.get(1 - whole), gradients[whole]);
            terms = createInFloat(workspaceMgr, above.shape());
            context().copies().copy(above, terms);
            broadcasting.multiply(terms, inputs.get(whole), terms);
        } else {
            scale(above, factor(whole), gradients[whole]);
        }
        INDArray sums = createInFloat(workspaceMgr, gradients[1 - whole].shape());
        broadcasting.sum(terms, operation == Op.Product ? 1 : factor(1 - whole), sums);
        context().copies().copy(sums, gradients[1 - whole]);
    }

    private static INDArray createInFloat(LayerWorkspaceMgr workspaceMgr, long... shape) {
        return Workspaces.channelsLast(workspaceMgr, ArrayType.BP_WORKING_MEM, DataType.FLOAT, shape);
    }

    /** Returns the derivative of a sum, difference or average of two arrays by one of them. */
    private double factor(int input) {
        return operation == Op.Average ? 0.5 : operation == Op.Subtract && input == 1 ? -1 : 1;
    }

    private void scale(INDArray array, double factor, INDArray result) {
        apply(Eltwise.linear(factor, 0), layout(array.shape()), array, result);
    }

    private void apply(Eltwise function, Layout layout, INDArray array, INDArray result) {
        EltwiseTask task = new EltwiseTask(function, layout);
        functions
                .get(task, () -> EltwiseKernels.make(context(), request().name(), task.function(), task.layout()))
                .forward(array, result);
    }

    /** Writes the gradient times the other inputs to each. */
    private void multiply(List<INDArray> inputs, INDArray above, INDArray[] gradients) {
        for (int i = 0; i < gradients.length; i++) {
            List<INDArray> factors = new ArrayList<>(inputs);
            factors.set(i, above);
            combine(dnnl.algorithm.binary_mul, List.of(), factors, gradients[i]);
        }
    }

    /** Writes the gradient to each where it's the maximum; of equal ones to the first, as in DL4J. */
    private void choose(List<INDArray> inputs, INDArray above, INDArray[] gradients, LayerWorkspaceMgr workspaceMgr) {
        INDArray comparison = create(workspaceMgr, ArrayType.BP_WORKING_MEM, above.shape());
        for (int i = 0; i < gradients.length; i++) {
            context().copies().copy(above, gradients[i]);
            for (int j = 0; j < gradients.length; j++) {
                if (i != j) {
                    dnnl.algorithm wins = i < j ? dnnl.algorithm.binary_ge : dnnl.algorithm.binary_gt;
                    combine(wins, List.of(), List.of(inputs.get(i), inputs.get(j)), comparison);
                    combine(dnnl.algorithm.binary_mul, List.of(), List.of(gradients[i], comparison), gradients[i]);
                }
            }
        }
    }

    @Override
    public void close() {
        combinations.close();
        functions.close();
        broadcasting.close();
    }
}
