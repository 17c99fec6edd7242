package org.dl4jamp.benchmarks.pytorch;

import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.InferenceMode;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Loss;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.side.Inference;
import org.dl4jamp.benchmarks.side.Task;

/**
 * A network of PyTorch's after {@code eval()}, in inference mode, under autocast if it's one of those sides. Classes
 * and labels of pixels come out as probabilities.
 */
public final class PyTorchInference implements Inference {
    /** The data types of weights and computation. */
    public enum Numbers {
        /** FP32. */
        FP32,
        /** bf16 where autocast has it so, of FP32 weights. */
        AUTOCAST,
        /**
         * The same with weights that are bf16, after {@code model.to(torch.bfloat16)}; the features are made bf16 in
         * each pass.
         */
        BFLOAT16_WEIGHTS
    }

    private static final long TIME = 1;

    private final Network network;
    private final Tensor features;
    private final Numbers numbers;
    private final Task task;
    private final Loss.Kind loss;

    /** @param task sequences at once, or one time step at a time */
    public PyTorchInference(Model model, Numbers numbers, Task task) {
        this.numbers = numbers;
        this.task = task;
        loss = model.blueprint().loss().kind();
        try (InferenceMode guard = new InferenceMode()) {
            network = Network.inferring(model, type());
            features = Tensors.copy(model.tensors().get(Blueprint.FEATURES));
        }
    }

    private ScalarType type() {
        return numbers == Numbers.BFLOAT16_WEIGHTS ? ScalarType.BFloat16 : ScalarType.Float;
    }

    @Override
    public void pass() {
        try (PointerScope temporary = new PointerScope();
                InferenceMode guard = new InferenceMode()) {
            infer();
        }
    }

    @Override
    public float[] outputs() {
        try (PointerScope temporary = new PointerScope();
                InferenceMode guard = new InferenceMode()) {
            Tensor outputs = infer().to(ScalarType.Float).contiguous();
            float[] copy = new float[Math.toIntExact(outputs.numel())];
            new FloatPointer(outputs.data_ptr()).get(copy);
            return copy;
        }
    }

    private Tensor infer() {
        Supplier<Tensor> forward =
                task == Task.TIME_STEPS ? this::stepByStep : () -> output(network::forward, features);
        return numbers == Numbers.FP32 ? forward.get() : Autocast.of(forward);
    }

    private Tensor stepByStep() {
        TensorVector outputs = new TensorVector();
        outputs.push_back(output(network::forward, features.narrow(TIME, 0, 1)));
        for (long step = 1; step < features.size(TIME); step++) {
            outputs.push_back(output(network::next, features.narrow(TIME, step, 1)));
        }
        return torch.cat(outputs, TIME);
    }

    private Tensor output(UnaryOperator<Tensor> pass, Tensor input) {
        Tensor output = pass.apply(numbers == Numbers.BFLOAT16_WEIGHTS ? input.to(type()) : input);
        return switch (loss) {
            case SQUARED_ERROR -> output;
            case CROSS_ENTROPY -> torch.softmax(output, -1);
            case BINARY_CROSS_ENTROPY -> torch.sigmoid(output);
        };
    }

    @Override
    public void close() {
        features.close();
    }
}
