package org.dl4jamp.benchmarks.pytorch;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.CompilationUnit;
import org.bytedeco.pytorch.Function;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.QualifiedName;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorList;
import org.bytedeco.pytorch.global.torch;
import org.dl4jamp.benchmarks.blueprint.Updater;

/**
 * The operators of {@code torch.optim.Adam(fused=True)} and {@code torch.optim.SGD(fused=True)}, PyTorch's fastest
 * updaters on a CPU. Its C++ classes have no such option, and the operators have no Java binding, so they are called
 * from TorchScript.
 */
final class FusedUpdater {
    private static final String SOURCE = """
            def new_list() -> List[Tensor]:
                made: List[Tensor] = []
                made.append(torch.zeros([]))
                made.clear()
                return made

            def adam(parameters: List[Tensor], gradients: List[Tensor], means: List[Tensor], squares: List[Tensor],
                     steps: List[Tensor], rate: float, beta1: float, beta2: float, epsilon: float) -> int:
                torch._foreach_add_(steps, 1.0)
                unused: List[Tensor] = []
                torch._fused_adam_(parameters, gradients, means, squares, unused, steps,
                                   lr=rate, beta1=beta1, beta2=beta2,
                                   weight_decay=0.0, eps=epsilon, amsgrad=False, maximize=False)
                return 0

            def nesterov(parameters: List[Tensor], gradients: List[Tensor], momenta: List[Tensor], rate: float,
                         momentum: float, first: bool) -> int:
                torch._fused_sgd_(parameters, gradients, momenta, weight_decay=0.0, momentum=momentum, lr=rate,
                                  dampening=0.0, nesterov=True, maximize=False, is_first_step=first)
                return 0
            """;

    private final CompilationUnit script = torch.compile(SOURCE);
    private final Updater updater;
    private final List<Tensor> parameters;
    private final Function function;
    private final IValue parameterList;
    private final IValue gradientList;
    private final List<IValue> state = new ArrayList<>();
    private boolean first = true;

    FusedUpdater(Updater updater, List<Tensor> parameters) {
        this.updater = updater;
        this.parameters = parameters;
        this.parameterList = list(parameters);
        this.gradientList = newList();
        if (updater instanceof Updater.Adam) {
            function = script.find_function(new QualifiedName("adam"));
            state.add(list(parameters.stream().map(Tensors::zerosLike).toList()));
            state.add(list(parameters.stream().map(Tensors::zerosLike).toList()));
            state.add(list(parameters.stream().map(each -> Tensors.zeros()).toList()));
        } else {
            function = script.find_function(new QualifiedName("nesterov"));
            state.add(list(parameters.stream().map(Tensors::zerosLike).toList()));
        }
    }

    /** Moves the parameters by their gradients. */
    void step() {
        TensorList gradients = gradientList.toTensorList();
        parameters.forEach(parameter -> gradients.push_back(parameter.grad()));
        IValueVector arguments = new IValueVector(parameterList, gradientList);
        state.forEach(arguments::push_back);
        if (updater instanceof Updater.Adam adam) {
            push(arguments, adam.learningRate(), adam.beta1(), adam.beta2(), adam.epsilon());
        } else {
            Updater.Nesterov nesterov = (Updater.Nesterov) updater;
            push(arguments, nesterov.learningRate(), nesterov.momentum());
            arguments.push_back(new IValue(first));
        }
        try (NoGradGuard none = new NoGradGuard()) {
            function.apply(arguments);
        }
        // A list that kept them would keep their memory through the next step.
        gradients.clear();
        first = false;
    }

    private static void push(IValueVector arguments, double... numbers) {
        for (double number : numbers) {
            arguments.push_back(new IValue(number));
        }
    }

    private IValue list(List<Tensor> tensors) {
        IValue list = newList();
        TensorList contents = list.toTensorList();
        tensors.forEach(contents::push_back);
        return list;
    }

    /**
     * Java can't make lists. The script fills its list and empties it again because an empty one is a constant to it,
     * the same in each call.
     */
    private IValue newList() {
        return script.find_function(new QualifiedName("new_list")).apply(new IValueVector());
    }
}
