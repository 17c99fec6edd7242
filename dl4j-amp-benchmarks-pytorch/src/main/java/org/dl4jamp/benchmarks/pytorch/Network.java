package org.dl4jamp.benchmarks.pytorch;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.T_TensorTensorTensor_T;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Parameter;
import org.dl4jamp.benchmarks.blueprint.Window;

/** A blueprint as PyTorch computes it. */
final class Network {
    private static final long[] NO_GAPS = {1, 1};
    private static final long[] NO_PADDING = {0, 0};

    /** Makes an operation's output from its inputs. */
    @FunctionalInterface
    private interface Function {
        Tensor of(List<Tensor> inputs);
    }

    private record Node(Operation operation, Function function) {}

    private final Model model;
    private final List<Node> nodes = new ArrayList<>();
    private final List<Tensor> parameters = new ArrayList<>();
    private final boolean training;
    private final ScalarType type;
    private final Map<String, TensorVector> states = new HashMap<>();

    private Network(Model model, boolean training, ScalarType type) {
        this.model = model;
        this.training = training;
        this.type = type;
        for (Operation operation : model.blueprint().operations()) {
            nodes.add(new Node(operation, function(operation)));
        }
    }

    /** Makes a network that trains its FP32 parameters. */
    static Network training(Model model) {
        return new Network(model, true, ScalarType.Float);
    }

    /**
     * Returns a network that normalizes by running statistics.
     *
     * @param type of the parameters
     */
    static Network inferring(Model model, ScalarType type) {
        return new Network(model, false, type);
    }

    /** Returns the trained parameters. */
    List<Tensor> parameters() {
        return List.copyOf(parameters);
    }

    /** Returns the output of the last operation. LSTMs begin with a state of zeros. */
    Tensor forward(Tensor features) {
        states.clear();
        return next(features);
    }

    /** Returns the output for the next part of the sequences: LSTMs begin with the state after the last part. */
    Tensor next(Tensor features) {
        Map<String, Tensor> outputs = new HashMap<>();
        outputs.put(Blueprint.INPUT, features);
        Tensor last = features;
        for (Node node : nodes) {
            last = node.function()
                    .of(node.operation().inputs().stream().map(outputs::get).toList());
            outputs.put(node.operation().name(), last);
        }
        return last;
    }

    private Function function(Operation operation) {
        if (operation instanceof Operation.Convolution convolution) {
            return convolution(convolution);
        }
        if (operation instanceof Operation.BatchNormalization normalization) {
            return batchNormalization(normalization);
        }
        if (operation instanceof Operation.Relu) {
            return inputs -> torch.relu(inputs.get(0));
        }
        if (operation instanceof Operation.MaxPooling pooling) {
            Window window = pooling.window();
            return inputs ->
                    torch.max_pool2d(inputs.get(0), size(window), stride(window), padding(window), NO_GAPS, false);
        }
        if (operation instanceof Operation.Flatten) {
            return inputs -> inputs.get(0).flatten(1, -1);
        }
        if (operation instanceof Operation.Dense dense) {
            Tensor weights = parameter(operation, Parameter.WEIGHTS);
            if (!dense.bias()) {
                return inputs -> torch.linear(inputs.get(0), weights);
            }
            TensorOptional bias = new TensorOptional(parameter(operation, Parameter.BIAS));
            return inputs -> torch.linear(inputs.get(0), weights, bias);
        }
        if (operation instanceof Operation.Lstm lstm) {
            return lstm.peepholes() ? peepholeLstm(operation) : lstm(operation);
        }
        if (operation instanceof Operation.Attention attention) {
            return inputs -> attention(inputs.get(0), attention.heads());
        }
        if (operation instanceof Operation.Add) {
            return inputs -> inputs.get(0).add(inputs.get(1));
        }
        if (operation instanceof Operation.Merge) {
            return inputs -> torch.cat(new TensorVector(inputs.toArray(Tensor[]::new)), 1);
        }
        if (operation instanceof Operation.Upsampling upsampling) {
            return inputs -> upsampling(inputs.get(0), upsampling.rows(), upsampling.columns());
        }
        throw new IllegalArgumentException("PyTorch's side has no operation " + operation);
    }

    private Function convolution(Operation.Convolution convolution) {
        Tensor weights = parameter(convolution, Parameter.WEIGHTS);
        TensorOptional bias = new TensorOptional(parameter(convolution, Parameter.BIAS));
        Window window = convolution.window();
        if (window.padding().bothSidesAlike()) {
            return inputs -> torch.conv2d(inputs.get(0), weights, bias, stride(window), padding(window), NO_GAPS, 1);
        }
        return inputs -> torch.conv2d(
                padded(inputs.get(0), window.padding()), weights, bias, stride(window), NO_PADDING, NO_GAPS, 1);
    }

    private Function batchNormalization(Operation.BatchNormalization normalization) {
        Tensor gamma = parameter(normalization, Parameter.SCALE);
        TensorOptional scale = new TensorOptional(gamma);
        TensorOptional shift = new TensorOptional(parameter(normalization, Parameter.SHIFT));
        TensorOptional mean = new TensorOptional(buffer(normalization, Parameter.MEAN));
        TensorOptional variance = new TensorOptional(buffer(normalization, Parameter.VARIANCE));
        return inputs -> torch.batch_norm(
                inputs.get(0),
                scale,
                shift,
                mean,
                variance,
                training,
                1 - normalization.decay(),
                normalization.epsilon(),
                false);
    }

    /**
     * PyTorch adds two biases to each gate. The second is zero here and isn't trained, or the bias would move twice as
     * far in a step.
     */
    private Function lstm(Operation operation) {
        Tensor bias = parameter(operation, Parameter.BIAS);
        TensorVector weights = new TensorVector(
                parameter(operation, Parameter.INPUT_WEIGHTS),
                parameter(operation, Parameter.RECURRENT_WEIGHTS),
                bias,
                Tensors.zerosLike(bias));
        long hidden = bias.numel() / 4;
        return inputs -> {
            TensorVector start = states.computeIfAbsent(operation.name(), name -> {
                Tensor zeros = Tensors.zeros(1, inputs.get(0).size(0), hidden).to(type);
                return new TensorVector(zeros, zeros);
            });
            T_TensorTensorTensor_T made = torch.lstm(inputs.get(0), start, weights, true, 1, 0, training, false, true);
            states.put(operation.name(), new TensorVector(made.get1(), made.get2()));
            return made.get0();
        };
    }

    private Function peepholeLstm(Operation operation) {
        Tensor bias = parameter(operation, Parameter.BIAS);
        PeepholeLstm lstm = new PeepholeLstm(
                parameter(operation, Parameter.INPUT_WEIGHTS),
                parameter(operation, Parameter.RECURRENT_WEIGHTS),
                parameter(operation, Parameter.PEEPHOLES),
                bias);
        long hidden = bias.numel() / 4;
        return inputs -> {
            TensorVector start = states.computeIfAbsent(operation.name(), name -> {
                Tensor zeros = Tensors.zeros(inputs.get(0).size(0), hidden).to(type);
                return new TensorVector(zeros, zeros);
            });
            PeepholeLstm.Outputs made = lstm.of(inputs.get(0), start.get(0), start.get(1));
            states.put(operation.name(), new TensorVector(made.last(), made.cells()));
            return made.all();
        };
    }

    /** @param projections queries, keys and values of all heads, [minibatch, time, 3 * heads * size] */
    private static Tensor attention(Tensor projections, int heads) {
        long size = projections.size(2) / 3 / heads;
        Tensor things = projections
                .view(projections.size(0), projections.size(1), 3, heads, size)
                .permute(2, 0, 3, 1, 4);
        return torch.scaled_dot_product_attention(things.select(0, 0), things.select(0, 1), things.select(0, 2))
                .transpose(1, 2)
                .flatten(2, 3);
    }

    private Tensor parameter(Operation operation, Parameter parameter) {
        Tensor made = buffer(operation, parameter);
        made.set_requires_grad(training);
        parameters.add(made);
        return made;
    }

    /** Returns a parameter that isn't trained. */
    private Tensor buffer(Operation operation, Parameter parameter) {
        return Tensors.copy(model.tensors().get(operation, parameter)).to(type);
    }

    /** Returns images with zeros around them, as PyTorch's convolutions make them where the sides differ. */
    private static Tensor padded(Tensor images, Window.Padding padding) {
        return torch.constant_pad_nd(images, padding.left(), padding.right(), padding.top(), padding.bottom());
    }

    private static Tensor upsampling(Tensor images, int rows, int columns) {
        return torch.upsample_nearest2d(images, images.size(2) * rows, images.size(3) * columns);
    }

    private static long[] size(Window window) {
        return new long[] {window.height(), window.width()};
    }

    private static long[] stride(Window window) {
        return new long[] {window.strideY(), window.strideX()};
    }

    private static long[] padding(Window window) {
        if (!window.padding().bothSidesAlike()) {
            throw new IllegalArgumentException("PyTorch's poolings pad both sides alike: " + window);
        }
        return window.padding().before();
    }
}
