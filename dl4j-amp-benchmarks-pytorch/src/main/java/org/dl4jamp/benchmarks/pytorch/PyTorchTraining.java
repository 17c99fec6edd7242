package org.dl4jamp.benchmarks.pytorch;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Loss;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.side.Training;

/**
 * PyTorch's usual training loop: forward and loss under autocast, if it's that side, backward outside, a fused updater.
 */
public final class PyTorchTraining implements Training {
    private static final long SUM = 2;
    private static final long NO_IGNORED_CLASS = -100;

    private final Network network;
    private final FusedUpdater updater;
    private final Tensor features;
    private final Tensor labels;
    private final Loss loss;
    private final boolean autocast;

    /** @param autocast whether forward runs under bf16 autocast */
    public PyTorchTraining(Model model, boolean autocast) {
        this.autocast = autocast;
        loss = model.blueprint().loss();
        network = Network.training(model);
        updater = new FusedUpdater(model.blueprint().updater(), network.parameters());
        features = Tensors.copy(model.tensors().get(Blueprint.FEATURES));
        labels = loss.kind() == Loss.Kind.CROSS_ENTROPY
                ? Tensors.classes(model.tensors().get(Blueprint.LABELS))
                : Tensors.copy(model.tensors().get(Blueprint.LABELS));
    }

    @Override
    public double step() {
        try (PointerScope temporary = new PointerScope()) {
            network.parameters().forEach(parameter -> parameter.mutable_grad().reset());
            Tensor sum = forward().div(new Scalar((double) loss.minibatch()));
            sum.backward();
            updater.step();
            return loss.mean(sum.item_float());
        }
    }

    private Tensor forward() {
        if (!autocast) {
            return lossOf(network.forward(features));
        }
        return Autocast.of(() -> lossOf(network.forward(features)));
    }

    private Tensor lossOf(Tensor output) {
        if (loss.kind() == Loss.Kind.SQUARED_ERROR) {
            return torch.mse_loss(output, labels, SUM);
        }
        if (loss.kind() == Loss.Kind.BINARY_CROSS_ENTROPY) {
            return torch.binary_cross_entropy_with_logits(
                    output, labels, new TensorOptional(), new TensorOptional(), SUM);
        }
        Tensor rows = output.dim() == 3 ? output.flatten(0, 1) : output;
        return torch.cross_entropy_loss(rows, labels, new TensorOptional(), SUM, NO_IGNORED_CLASS, 0);
    }

    @Override
    public void close() {
        features.close();
        labels.close();
    }
}
