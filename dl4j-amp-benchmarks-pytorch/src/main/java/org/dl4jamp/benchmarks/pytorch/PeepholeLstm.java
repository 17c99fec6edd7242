package org.dl4jamp.benchmarks.pytorch;

import org.bytedeco.pytorch.CompilationUnit;
import org.bytedeco.pytorch.Function;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.QualifiedName;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorList;
import org.bytedeco.pytorch.global.torch;

/**
 * A long short-term memory with peepholes. PyTorch has no operator of that, so it is a cell in TorchScript. The inputs
 * of all steps are one product, and the last output is another in each step.
 */
final class PeepholeLstm {
    private static final String SOURCE = """
            def lstm(inputs: Tensor, output: Tensor, cells: Tensor, input_weights: Tensor, recurrent_weights: Tensor,
                     peepholes: Tensor, bias: Tensor) -> List[Tensor]:
                sums = torch.linear(inputs, input_weights, bias)
                outputs: List[Tensor] = []
                for step in sums.unbind(1):
                    i, f, g, o = (step + torch.linear(output, recurrent_weights)).chunk(4, 1)
                    i = torch.sigmoid(i + peepholes[0] * cells)
                    f = torch.sigmoid(f + peepholes[1] * cells)
                    cells = f * cells + i * torch.tanh(g)
                    o = torch.sigmoid(o + peepholes[2] * cells)
                    output = o * torch.tanh(cells)
                    outputs.append(output)
                return [torch.stack(outputs, 1), output, cells]
            """;

    private final CompilationUnit script = torch.compile(SOURCE);
    private final Function function = script.find_function(new QualifiedName("lstm"));
    private final IValueVector weights;

    /** The outputs of all steps, [minibatch, time, out], and the state after the last, both [minibatch, out]. */
    record Outputs(Tensor all, Tensor last, Tensor cells) {}

    /**
     * @param inputWeights [4 * out, in]
     * @param recurrentWeights [4 * out, out]
     * @param peepholes [3, out]
     * @param bias [4 * out]
     */
    PeepholeLstm(Tensor inputWeights, Tensor recurrentWeights, Tensor peepholes, Tensor bias) {
        weights = new IValueVector(
                new IValue(inputWeights), new IValue(recurrentWeights), new IValue(peepholes), new IValue(bias));
    }

    /**
     * Computes some steps.
     *
     * @param inputs [minibatch, time, in]
     * @param last the output of the step before the first, [minibatch, out]
     * @param cells the cells of that step, [minibatch, out]
     */
    Outputs of(Tensor inputs, Tensor last, Tensor cells) {
        IValueVector arguments = new IValueVector(new IValue(inputs), new IValue(last), new IValue(cells));
        for (long i = 0; i < weights.size(); i++) {
            arguments.push_back(weights.get(i));
        }
        TensorList made = function.apply(arguments).toTensorList();
        return new Outputs(made.get(0), made.get(1), made.get(2));
    }
}
