package org.dl4jamp.benchmarks.floor;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.bytedeco.dnnl.memory;
import org.bytedeco.javacpp.BytePointer;
import org.dl4jamp.benchmarks.blueprint.Operation;
import org.dl4jamp.benchmarks.blueprint.Parameter;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.blueprint.Tensors;
import org.dl4jamp.benchmarks.blueprint.Window;
import org.dl4jamp.benchmarks.stage.Stage;
import org.dl4jamp.benchmarks.tape.Flow;
import org.dl4jamp.benchmarks.tape.Memories;
import org.dl4jamp.benchmarks.tape.Tape;

/**
 * Consecutive 1×1 convolutions of large images in inference. A tile of pixels goes through all of them before the next
 * one begins, so what is between them stays in the caches.
 */
final class TiledStages {
    /** Bytes of the widest array of a tile, in two threads. */
    private static final long BYTES = 1 << 20;

    /** Smaller arrays are in the caches anyway. */
    private static final long LARGE = 8 << 20;

    private static final long MOST_CHANNELS = 512;

    private final Tape tape;
    private final Memories memories;
    private final Tensors tensors;
    private final Map<String, Flow> flows;

    TiledStages(Tape tape, Memories memories, Tensors tensors, Map<String, Flow> flows) {
        this.tape = tape;
        this.memories = memories;
        this.tensors = tensors;
        this.flows = flows;
    }

    /** Returns the stages from the first of a list on that are faster in tiles; that one alone if there are none. */
    List<Stage> chain(List<Stage> stages) {
        int end = 1;
        while (end < stages.size()
                && isPointwise(stages.get(end - 1))
                && isPointwise(stages.get(end))
                && isReadByNextAlone(stages, end - 1)) {
            end++;
        }
        List<Stage> chain = stages.subList(0, end);
        return end > 1 && pays(chain) ? chain : stages.subList(0, 1);
    }

    private boolean isPointwise(Stage stage) {
        return stage.summand().isEmpty()
                && stage.head() instanceof Operation.Convolution convolution
                && weights(stage).size(2) * weights(stage).size(3) == 1
                && convolution.window().strideY() * convolution.window().strideX() == 1
                && convolution.window().padding().equals(Window.Padding.NONE);
    }

    private static boolean isReadByNextAlone(List<Stage> stages, int index) {
        String result = stages.get(index).output();
        return stages.get(index + 1).inputs().equals(List.of(result))
                && stages.subList(index + 2, stages.size()).stream()
                        .noneMatch(stage -> stage.inputs().contains(result));
    }

    private Tensor weights(Stage stage) {
        return tensors.get(stage.head(), Parameter.WEIGHTS);
    }

    private boolean pays(List<Stage> chain) {
        long widest = widest(chain);
        return widest <= MOST_CHANNELS && pixels(input(chain)) * widest * bytesOfNumber() >= LARGE;
    }

    private long widest(List<Stage> chain) {
        return chain.stream().mapToLong(stage -> weights(stage).size(0)).max().orElseThrow();
    }

    private long bytesOfNumber() {
        return tape.type() == memory.data_type.f32 ? Float.BYTES : Short.BYTES;
    }

    private static String nameOfInput(List<Stage> chain) {
        return chain.get(0).head().inputs().get(0);
    }

    private Flow input(List<Stage> chain) {
        return flows.get(nameOfInput(chain));
    }

    private static long pixels(Flow images) {
        return images.size(0) * images.size(2) * images.size(3);
    }

    /**
     * Adds all tiles and returns the output.
     *
     * @param one adds one stage, whose result is in memory that was taken
     */
    Flow add(List<Stage> chain, Function<Stage, Flow> one) {
        Flow input = input(chain);
        Stage last = chain.get(chain.size() - 1);
        long[] shape = input.shape();
        shape[1] = weights(last).size(0);
        memory.desc description = tape.activations(memory.format_tag.acdb, shape);
        Flow output = Flow.withoutGradient(tape, memories.take(description), description, shape);
        tape.keep(input.value());
        tape.keep(output.value());
        long tile = BYTES / (widest(chain) * bytesOfNumber());
        for (long start = 0; start < pixels(input); start += tile) {
            long rows = Math.min(tile, pixels(input) - start);
            flows.put(nameOfInput(chain), part(input, start, rows));
            for (Stage stage : chain) {
                if (stage.equals(last)) {
                    // What is given back last is taken first.
                    memories.give(part(output, start, rows).value());
                }
                flows.put(stage.output(), one.apply(stage));
                if (!stage.equals(chain.get(0))) {
                    memories.give(flows.get(stage.head().inputs().get(0)).value());
                }
            }
        }
        flows.put(nameOfInput(chain), input);
        return output;
    }

    /** Returns some pixels of images as an image of one row. */
    private Flow part(Flow images, long start, long rows) {
        long[] shape = {1, images.size(1), 1, rows};
        memory.desc description = tape.activations(memory.format_tag.acdb, shape);
        BytePointer first = new BytePointer(images.value().get_data_handle());
        memory value = new memory(description, tape.cpu(), first.position(start * images.size(1) * bytesOfNumber()));
        return Flow.withoutGradient(tape, value, description, shape);
    }
}
