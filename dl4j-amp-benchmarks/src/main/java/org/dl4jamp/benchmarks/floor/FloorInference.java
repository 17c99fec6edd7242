package org.dl4jamp.benchmarks.floor;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Loss;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.blueprint.Tensors;
import org.dl4jamp.benchmarks.kernels.OneDnnWorkload;
import org.dl4jamp.benchmarks.side.Inference;
import org.dl4jamp.benchmarks.side.Task;
import org.dl4jamp.benchmarks.stage.SampledStages;
import org.dl4jamp.benchmarks.stage.Stage;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.Memories;
import org.dl4jamp.benchmarks.tape.Tape;

/**
 * The primitives of a pass in inference mode, on channels-last plain memory. Batch normalization is folded into the
 * weights of the product before it. Sums of residual blocks and ReLU are fused into the product's primitive. Positions
 * that nobody reads aren't computed. Before the first pass weights are in each primitive's own order, and features in
 * the activations' type and order. Activations reuse the memory of those that aren't read any more.
 */
public final class FloorInference implements Inference, OneDnnWorkload {
    private final Tape tape;
    private final Sequences sequences;
    private final Loss.Kind loss;
    private final int minibatch;
    private final List<Flow> outputs = new ArrayList<>();

    /**
     * @param half whether activations and weights are BFLOAT16, in place of FP32
     * @param task sequences at once, or one time step at a time
     */
    public FloorInference(Model model, boolean half, Task task) {
        tape = new Tape(half ? memory.data_type.bf16 : memory.data_type.f32);
        Blueprint blueprint = model.blueprint();
        Tensors tensors = model.tensors();
        sequences = new Sequences(blueprint);
        loss = blueprint.loss().kind();
        Memories memories = new Memories(tape);
        List<Stage> stages = SampledStages.of(Stage.of(blueprint));
        minibatch = (int) tensors.get(Blueprint.FEATURES).size(0);
        Tensor features = sequences.arranged(tensors.get(Blueprint.FEATURES));
        if (task == Task.TIME_STEPS) {
            for (int step = 0; step < features.size(0); step++) {
                Flow input = Flow.features(tape, timeStep(features, step));
                add(new InferencePass(tape, memories, tensors, stages, OptionalInt.of(step)), input);
            }
        } else {
            add(new InferencePass(tape, memories, tensors, stages, OptionalInt.empty()), Flow.features(tape, features));
        }
    }

    private void add(InferencePass pass, Flow features) {
        Flow last = pass.add(features);
        outputs.add(LossPart.probabilities(tape, loss, last));
    }

    private static Tensor timeStep(Tensor sequences, int step) {
        long[] shape = sequences.shape();
        shape[0] = 1;
        int length = (int) (shape[1] * shape[2]);
        return new Tensor(shape, Arrays.copyOfRange(sequences.values(), step * length, (step + 1) * length));
    }

    /** Returns how many primitives a pass runs. */
    int primitives() {
        return tape.length();
    }

    @Override
    public void pass() {
        tape.run();
    }

    @Override
    public float[] outputs() {
        tape.run();
        List<float[]> parts = outputs.stream().map(this::read).toList();
        int length = parts.stream().mapToInt(part -> part.length).sum();
        float[] all = new float[length];
        int from = 0;
        for (float[] part : parts) {
            System.arraycopy(part, 0, all, from, part.length);
            from += part.length;
        }
        return sequences.minibatchFirst(all, minibatch, (int) outputs.get(0).size(1));
    }

    private float[] read(Flow output) {
        return tape.read(
                output.value(), output.rank() == 4 ? memory.format_tag.abcd : memory.format_tag.ab, output.shape());
    }

    @Override
    public void close() {
        outputs.clear();
    }
}
