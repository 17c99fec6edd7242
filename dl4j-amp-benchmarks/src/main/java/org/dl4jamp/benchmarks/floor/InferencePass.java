package org.dl4jamp.benchmarks.floor;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.bytedeco.dnnl.binary;
import org.bytedeco.dnnl.convolution_forward;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.inner_product_forward;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.pooling_forward;
import org.bytedeco.dnnl.primitive;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Tensors;
import org.dl4jamp.benchmarks.blueprint.Window;
import org.dl4jamp.benchmarks.stage.Stage;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.Memories;
import org.dl4jamp.benchmarks.tape.ReluFusion;
import org.dl4jamp.benchmarks.tape.Tape;

/** Puts the primitives of one pass, or of one time step, on the tape. */
final class InferencePass {
    private static final dnnl.prop_kind INFERENCE = dnnl.prop_kind.forward_inference;
    private static final long[] NO_GAPS = {0, 0};

    private final Tape tape;
    private final Memories memories;
    private final Tensors tensors;
    private final List<Stage> stages;
    private final OptionalInt step;
    private final Map<String, Flow> flows = new HashMap<>();

    /** @param step which time step, empty where sequences are computed at once */
    InferencePass(Tape tape, Memories memories, Tensors tensors, List<Stage> stages, OptionalInt step) {
        this.tape = tape;
        this.memories = memories;
        this.tensors = tensors;
        this.stages = stages;
        this.step = step;
    }

    /** Adds all of them and returns the output. */
    Flow add(Flow features) {
        flows.put(Blueprint.INPUT, features);
        TiledStages tiled = new TiledStages(tape, memories, tensors, flows);
        Flow last = features;
        List<Stage> left = stages;
        while (!left.isEmpty()) {
            List<Stage> chain = tiled.chain(left);
            last = chain.size() > 1 ? tiled.add(chain, this::output) : output(chain.get(0));
            String output = chain.get(chain.size() - 1).output();
            flows.put(output, last);
            left = left.subList(chain.size(), left.size());
            giveBack(chain.get(0).inputs(), output, left);
        }
        return last;
    }

    /** Frees the memory of inputs after their last read. Some outputs are in the memory of their inputs. */
    private void giveBack(List<String> inputs, String output, List<Stage> later) {
        for (String input : inputs) {
            Flow read = flows.get(input);
            boolean again = later.stream()
                    .flatMap(each -> each.inputs().stream())
                    .anyMatch(name -> flows.containsKey(name) && flows.get(name).isInMemoryOf(read));
            boolean handedOn = flows.get(output).isInMemoryOf(read);
            if (!again && !handedOn && !input.equals(Blueprint.INPUT)) {
                memories.give(read.value());
            }
        }
    }

    private Flow output(Stage stage) {
        Flow input = flows.get(stage.head().inputs().get(0));
        if (stage.head() instanceof Operation.Convolution convolution) {
            return convolution(stage, input, convolution.window());
        }
        if (stage.head() instanceof Operation.Dense) {
            return dense(stage, input);
        }
        if (stage.head() instanceof Operation.MaxPooling pooling) {
            return maxPooling(input, pooling.window());
        }
        if (stage.head() instanceof Operation.Flatten) {
            return input;
        }
        if (stage.head() instanceof Operation.Lstm lstm) {
            return new LstmInference(tape, memories, tensors, lstm).add(input, step);
        }
        if (stage.head() instanceof Operation.Attention attention) {
            long minibatch = tensors.get(Blueprint.FEATURES).size(0);
            return AttentionPart.infer(tape, memories, input, attention.heads(), minibatch);
        }
        if (stage.head() instanceof Operation.Add add) {
            return sum(input, flows.get(add.inputs().get(1)), stage.relu());
        }
        if (stage.head() instanceof Operation.Merge) {
            return merged(stage.inputs().stream().map(flows::get).toList());
        }
        if (stage.head() instanceof Operation.Upsampling upsampling) {
            Flow output = images(UpsamplingPart.outputShape(input, upsampling));
            UpsamplingPart.forward(tape, input, output, dnnl.dnnl_forward_inference);
            return output;
        }
        throw new IllegalArgumentException("the floor has no primitives for " + stage.head());
    }

    private Flow convolution(Stage stage, Flow input, Window window) {
        Stage.Product product = stage.product(tensors);
        if (stage.summand().isEmpty() && SingleChannel.isMade(tape, window, product.weights())) {
            return singleChannel(stage, input, product);
        }
        long[] shape = ConvolutionPart.outputShape(input, window, product.weights());
        Flow output = output(stage, tape.activations(memory.format_tag.acdb, shape), shape);
        long[] filters = product.weights().shape();
        memory.desc weights = tape.activations(memory.format_tag.any, filters);
        memory.desc plain = tape.floats(memory.format_tag.abcd, filters);
        primitive_attr attributes = ReluFusion.attributes(stage.summand().isPresent(), stage.relu());
        if (FewWindows.suit(tape, window, shape, filters)) {
            FewWindows windows = new FewWindows(tape, window, input, shape);
            primitive_desc description = windows.product(weights, biases(product), attributes);
            add(stage, windows.copies(), product, plain, description, output);
            return output;
        }
        if (stage.summand().isEmpty()
                && LongRow.suits(window, shape, product.weights().values().length)) {
            LongRow row = new LongRow(tape, memories, shape[0]);
            convolution_forward.primitive_desc description =
                    row.convolution(input.shape(), weights, biases(product), shape, window.padding(), attributes);
            if (LongRow.isFast(description)) {
                Flow from = row.take(input.shape());
                Flow to = row.take(shape);
                row.arrange(input, from);
                add(stage, from, product, plain, description, to);
                row.spread(to, output);
                row.give(from);
                row.give(to);
                return output;
            }
        }
        convolution_forward.primitive_desc description = ConvolutionPart.fastest(
                window,
                filters,
                shape[3],
                () -> new convolution_forward.primitive_desc(
                        tape.cpu(),
                        INFERENCE,
                        dnnl.algorithm.convolution_direct,
                        input.description(),
                        weights,
                        biases(product),
                        output.description(),
                        new long[] {window.strideY(), window.strideX()},
                        window.padding().before(),
                        window.padding().after(),
                        attributes,
                        false));
        add(stage, input, product, plain, description, output);
        return output;
    }

    private Flow singleChannel(Stage stage, Flow input, Stage.Product product) {
        Flow output = images(input.size(0), 1, input.size(2), input.size(3));
        memory.desc plain = tape.floats(memory.format_tag.ab, 1, input.size(1));
        primitive_desc description = SingleChannel.description(tape, input, biases(product), stage.relu());
        add(stage, input, SingleChannel.ofRows(product), plain, description, output);
        return output;
    }

    /** Images are rows of numbers as they are in memory: oneDNN's product of images takes up to four times as long. */
    private Flow dense(Stage stage, Flow input) {
        Stage.Product product = stage.product(tensors);
        boolean images = input.rank() == 4;
        Stage.Product ofRows =
                images ? new Stage.Product(DensePart.channelsLast(product.weights(), input), product.bias()) : product;
        long[] weights = ofRows.weights().shape();
        long[] shape = {DensePart.rows(input), weights[0]};
        Flow output = output(stage, tape.activations(memory.format_tag.ab, shape), shape);
        inner_product_forward.primitive_desc description = new inner_product_forward.primitive_desc(
                tape.cpu(),
                INFERENCE,
                images
                        ? tape.activations(memory.format_tag.ab, shape[0], weights[1])
                        : DensePart.asRows(input, input.description()),
                tape.activations(memory.format_tag.any, weights),
                biases(product),
                output.description(),
                ReluFusion.attributes(stage.summand().isPresent(), stage.relu()),
                false);
        add(stage, input, ofRows, tape.floats(memory.format_tag.ab, weights), description, output);
        return output;
    }

    /** Returns the output, in the summand's memory if there is one. */
    private Flow output(Stage stage, memory.desc description, long... shape) {
        memory value = stage.summand().map(name -> flows.get(name).value()).orElseGet(() -> memories.take(description));
        return Flow.withoutGradient(tape, value, description, shape);
    }

    private memory.desc biases(Stage.Product product) {
        return ProductPart.biases(tape, product.bias());
    }

    private void add(
            Stage stage,
            Flow input,
            Stage.Product product,
            memory.desc plain,
            primitive_desc description,
            Flow output) {
        String name = stage.head().name();
        memory.desc biases = biases(product);
        tape.add(
                new primitive(description),
                new Tape.Argument(dnnl.DNNL_ARG_SRC, input.value()),
                new Tape.Argument(
                        dnnl.DNNL_ARG_WEIGHTS,
                        memories.filled(name + "/weights", product.weights(), plain, description.weights_desc())),
                new Tape.Argument(dnnl.DNNL_ARG_DST, output.value()));
        product.bias()
                .ifPresent(bias -> tape.addArguments(
                        new Tape.Argument(dnnl.DNNL_ARG_BIAS, memories.filled(name + "/bias", bias, biases, biases))));
    }

    private Flow maxPooling(Flow input, Window window) {
        Flow output = images(MaxPoolingPart.outputShape(input, window));
        pooling_forward.primitive_desc pooling = new pooling_forward.primitive_desc(
                tape.cpu(),
                INFERENCE,
                dnnl.algorithm.pooling_max,
                input.description(),
                output.description(),
                new long[] {window.strideY(), window.strideX()},
                new long[] {window.height(), window.width()},
                NO_GAPS,
                window.padding().before(),
                window.padding().after());
        tape.add(
                new pooling_forward(pooling),
                new Tape.Argument(dnnl.DNNL_ARG_SRC, input.value()),
                new Tape.Argument(dnnl.DNNL_ARG_DST, output.value()));
        return output;
    }

    private Flow merged(List<Flow> inputs) {
        Flow output = images(MergePart.outputShape(inputs));
        MergePart.forward(tape, inputs, output);
        return output;
    }

    private Flow images(long... shape) {
        memory.desc description = tape.activations(memory.format_tag.acdb, shape);
        return Flow.withoutGradient(tape, memories.take(description), description, shape);
    }

    private Flow sum(Flow first, Flow second, boolean relu) {
        memory.desc description = first.description();
        Flow output = Flow.withoutGradient(tape, memories.take(description), description, first.shape());
        binary.primitive_desc sum = new binary.primitive_desc(
                tape.cpu(),
                dnnl.algorithm.binary_add,
                description,
                second.description(),
                description,
                ReluFusion.attributes(relu),
                false);
        tape.add(
                new binary(sum),
                new Tape.Argument(dnnl.DNNL_ARG_SRC_0, first.value()),
                new Tape.Argument(dnnl.DNNL_ARG_SRC_1, second.value()),
                new Tape.Argument(dnnl.DNNL_ARG_DST, output.value()));
        return output;
    }
}
