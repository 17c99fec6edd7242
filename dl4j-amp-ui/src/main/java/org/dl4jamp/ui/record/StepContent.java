package org.dl4jamp.ui.record;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.dl4jamp.listeners.NumberStatistics;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * The figures of one iteration.
 *
 * @param iteration DL4J's number of the iteration; the first is 0
 * @param epoch DL4J's count of epochs
 * @param loss the network's score, without the loss scale; may be NaN or infinite
 * @param lossScale the loss scale of the next step
 * @param stepsTaken steps that have updated the parameters
 * @param stepsSkipped steps that were skipped
 * @param layers the layers that were looked at
 */
public record StepContent(
        int iteration, int epoch, double loss, double lossScale, long stepsTaken, long stepsSkipped, List<Layer> layers)
        implements Content {
    /**
     * The numbers of a layer in one iteration.
     *
     * @param name its name in the plan
     * @param output of its output, empty where it wasn't looked at
     * @param gradient of the gradient of its input, with the loss scale; empty where nothing reads that
     * @param scale the scale that the layer has chosen for itself, empty if it has none
     */
    public record Layer(
            String name,
            Optional<NumberStatistics> output,
            Optional<NumberStatistics> gradient,
            OptionalDouble scale) {}

    public StepContent {
        layers = List.copyOf(layers);
    }

    @Override
    public Kind kind() {
        return Kind.STEP;
    }

    @Override
    public void write(DataOutputStream out) throws IOException {
        out.writeInt(iteration);
        out.writeInt(epoch);
        out.writeDouble(loss);
        out.writeDouble(lossScale);
        out.writeLong(stepsTaken);
        out.writeLong(stepsSkipped);
        Values.writeList(out, layers, StepContent::writeLayer);
    }

    private static void writeLayer(DataOutputStream out, Layer layer) throws IOException {
        Values.writeText(out, layer.name());
        Values.writeOptional(out, layer.output(), StepContent::writeNumbers);
        Values.writeOptional(out, layer.gradient(), StepContent::writeNumbers);
        out.writeDouble(layer.scale().orElse(0));
    }

    private static void writeNumbers(DataOutputStream out, NumberStatistics numbers) throws IOException {
        Values.writeText(out, numbers.type().name());
        out.writeLong(numbers.numbers());
        out.writeDouble(numbers.zero());
        out.writeDouble(numbers.subnormal());
        out.writeDouble(numbers.nearOverflow());
        out.writeDouble(numbers.nonFinite());
        out.writeDouble(numbers.largest());
    }

    static StepContent read(DataInputStream in) throws IOException {
        return new StepContent(
                in.readInt(),
                in.readInt(),
                in.readDouble(),
                in.readDouble(),
                in.readLong(),
                in.readLong(),
                Values.readList(in, StepContent::readLayer));
    }

    private static Layer readLayer(DataInputStream in) throws IOException {
        return new Layer(
                Values.readText(in),
                Values.readOptional(in, StepContent::readNumbers),
                Values.readOptional(in, StepContent::readNumbers),
                scale(in.readDouble()));
    }

    /** A scale is a power of two, and never zero. */
    private static OptionalDouble scale(double written) {
        return written == 0 ? OptionalDouble.empty() : OptionalDouble.of(written);
    }

    private static NumberStatistics readNumbers(DataInputStream in) throws IOException {
        return new NumberStatistics(
                DataType.valueOf(Values.readText(in)),
                in.readLong(),
                in.readDouble(),
                in.readDouble(),
                in.readDouble(),
                in.readDouble(),
                in.readDouble());
    }
}
