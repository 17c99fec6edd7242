package org.dl4jamp.benchmarks.floor;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.bytedeco.dnnl.memory;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Parameter;
import org.dl4jamp.benchmarks.blueprint.Tensors;
import org.dl4jamp.benchmarks.kernels.OneDnnWorkload;
import org.dl4jamp.benchmarks.side.Training;
import org.dl4jamp.benchmarks.stage.Stage;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.Part;
import org.dl4jamp.benchmarks.tape.Tape;

/**
 * The primitives of a training step, on channels-last plain memory. ReLU is fused into the operation before it, and
 * there is no gradient of the features where oneDNN can leave it out. Before the first step weights are in each
 * primitive's own order. No weight changes, so that the loss is the same in each step.
 */
public final class FloorTraining implements Training, OneDnnWorkload {
    private final Tape tape;
    private final Map<String, Flow> flows = new HashMap<>();
    private final double loss;

    /** @param half whether activations and weights are BFLOAT16, in place of FP32 */
    public FloorTraining(Model model, boolean half) {
        tape = new Tape(half ? memory.data_type.bf16 : memory.data_type.f32);
        Blueprint blueprint = model.blueprint();
        Tensors tensors = model.tensors();
        Sequences sequences = new Sequences(blueprint);
        flows.put(Blueprint.INPUT, Flow.features(tape, sequences.arranged(tensors.get(Blueprint.FEATURES))));
        Set<String> fused = fusedWithRelu(blueprint.operations());
        List<Part> parts = new ArrayList<>();
        Flow output = null;
        for (Operation operation : blueprint.operations()) {
            Flow input = flows.get(operation.inputs().get(0));
            if (operation instanceof Operation.Relu || operation instanceof Operation.Flatten) {
                flows.put(operation.name(), input);
            } else {
                Part part = part(operation, input, tensors, fused.contains(operation.name()));
                parts.add(part);
                flows.put(operation.name(), part.output());
                output = part.output();
            }
        }
        float[] labels = sequences.arranged(tensors.get(Blueprint.LABELS)).values();
        LossPart lossPart = new LossPart(tape, output, blueprint.loss().kind(), labels);
        Collections.reverse(parts);
        parts.forEach(Part::backward);
        tape.run();
        loss = lossPart.value();
    }

    /** Returns the operations with a ReLU as their only reader. */
    private static Set<String> fusedWithRelu(List<Operation> operations) {
        Map<String, Long> readers = operations.stream()
                .flatMap(operation -> operation.inputs().stream())
                .collect(Collectors.groupingBy(name -> name, Collectors.counting()));
        Set<String> fused = new HashSet<>();
        for (Operation operation : operations) {
            if (operation instanceof Operation.Relu) {
                String before = operation.inputs().get(0);
                if (readers.get(before) != 1 || before.equals(Blueprint.INPUT)) {
                    throw new IllegalArgumentException(
                            "the floor has ReLU only where nothing else reads its input: " + operation.name());
                }
                fused.add(before);
            }
        }
        return fused;
    }

    private Part part(Operation operation, Flow input, Tensors tensors, boolean relu) {
        if (operation instanceof Operation.Convolution convolution) {
            return new ConvolutionPart(
                    tape,
                    input,
                    convolution.window(),
                    tensors.get(operation, Parameter.WEIGHTS),
                    tensors.get(operation, Parameter.BIAS),
                    relu);
        }
        if (operation instanceof Operation.BatchNormalization normalization) {
            return new BatchNormPart(
                    tape,
                    input,
                    normalization.epsilon(),
                    tensors.get(operation, Parameter.SCALE),
                    tensors.get(operation, Parameter.SHIFT),
                    relu);
        }
        if (operation instanceof Operation.MaxPooling pooling) {
            return new MaxPoolingPart(tape, input, pooling.window());
        }
        if (operation instanceof Operation.Dense) {
            return new DensePart(
                    tape, input, tensors.get(operation, Parameter.WEIGHTS), Stage.bias(operation, tensors), relu);
        }
        if (operation instanceof Operation.Lstm lstm) {
            return new LstmPart(tape, input, lstm, tensors);
        }
        if (operation instanceof Operation.Attention attention) {
            long minibatch = tensors.get(Blueprint.FEATURES).size(0);
            return new AttentionPart(tape, input, attention.heads(), minibatch);
        }
        if (operation instanceof Operation.Add) {
            return new AddPart(tape, input, flows.get(operation.inputs().get(1)), relu);
        }
        if (operation instanceof Operation.Merge) {
            return new MergePart(
                    tape, operation.inputs().stream().map(flows::get).toList());
        }
        if (operation instanceof Operation.Upsampling upsampling) {
            return new UpsamplingPart(tape, input, upsampling);
        }
        throw new IllegalArgumentException("the floor has no primitives for " + operation);
    }

    /** Returns how many primitives a step runs. */
    int primitives() {
        return tape.length();
    }

    @Override
    public double step() {
        tape.run();
        return loss;
    }

    @Override
    public void close() {
        flows.clear();
    }
}
