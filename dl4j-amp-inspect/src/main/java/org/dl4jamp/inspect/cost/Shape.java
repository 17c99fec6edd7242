package org.dl4jamp.inspect.cost;

import java.util.Arrays;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.inputs.InputType.InputTypeConvolutional;
import org.deeplearning4j.nn.conf.inputs.InputType.InputTypeConvolutional3D;
import org.deeplearning4j.nn.conf.inputs.InputType.InputTypeConvolutionalFlat;
import org.deeplearning4j.nn.conf.inputs.InputType.InputTypeFeedForward;
import org.deeplearning4j.nn.conf.inputs.InputType.InputTypeRecurrent;

/**
 * The shape of an activation, for one example.
 *
 * @param type DL4J's type; a recurrent one has its number of time steps
 * @param rows how many arrays of this type there are for an example. More than one where a preprocessor has made the
 *     time steps of a sequence to rows of the minibatch
 */
public record Shape(InputType type, long rows) {
    /** A shape of one row. */
    public Shape(InputType type) {
        this(type, 1);
    }

    /** Returns the number of values. */
    public long elements() {
        return rows * type.arrayElementsPerExample();
    }

    /** Returns whether a size is zero or less, as DL4J computes it behind a window that is larger than its input. */
    boolean isEmpty() {
        return Arrays.stream(sizes()).anyMatch(size -> size <= 0);
    }

    /** Returns the number of channels, or of values of a time step, or of values where there is nothing else. */
    public long channels() {
        if (type instanceof InputTypeConvolutional image) {
            return image.getChannels();
        }
        if (type instanceof InputTypeConvolutional3D volume) {
            return volume.getChannels();
        }
        return type instanceof InputTypeRecurrent sequence ? sequence.getSize() : type.arrayElementsPerExample();
    }

    /** Returns the number of pixels, voxels, time steps or rows: {@code elements() / channels()}. */
    public long positions() {
        return elements() / channels();
    }

    /** Returns the number of time steps; 1 if it's no sequence. */
    public long timesteps() {
        return type instanceof InputTypeRecurrent sequence ? sequence.getTimeSeriesLength() : 1;
    }

    /**
     * Returns the shape that a preprocessor makes of this one.
     *
     * @param next its output's type; DL4J gives it no number of time steps in some cases
     * @param timesteps the number of time steps where it can't be told
     */
    Shape reshaped(InputType next, long timesteps) {
        boolean wasSequence = type instanceof InputTypeRecurrent;
        if (next instanceof InputTypeRecurrent sequence) {
            return wasSequence ? new Shape(next, rows) : new Shape(sequence(sequence, rows > 1 ? rows : timesteps));
        }
        return new Shape(next, wasSequence ? rows * timesteps() : rows);
    }

    /** Returns a type with a number of time steps, if it's a sequence whose number isn't known. */
    static InputType withTimesteps(InputType type, long timesteps) {
        return type instanceof InputTypeRecurrent sequence && sequence.getTimeSeriesLength() <= 0
                ? sequence(sequence, timesteps)
                : type;
    }

    /** Returns a sequence's type with another number of time steps. */
    static InputType sequence(InputTypeRecurrent type, long timesteps) {
        return InputType.recurrent(type.getSize(), timesteps, type.getFormat());
    }

    /**
     * Returns the sizes as {@code 3x224x224}, channels first, and the number of rows behind them if there are several.
     */
    @Override
    public String toString() {
        String repeated = rows > 1 ? " (" + rows + " rows)" : "";
        return Arrays.stream(sizes()).mapToObj(Long::toString).collect(Collectors.joining("x")) + repeated;
    }

    private long[] sizes() {
        if (type instanceof InputTypeConvolutional image) {
            return new long[] {image.getChannels(), image.getHeight(), image.getWidth()};
        }
        if (type instanceof InputTypeConvolutional3D volume) {
            return new long[] {volume.getChannels(), volume.getDepth(), volume.getHeight(), volume.getWidth()};
        }
        if (type instanceof InputTypeRecurrent sequence) {
            return new long[] {sequence.getSize(), sequence.getTimeSeriesLength()};
        }
        return new long[] {
            type instanceof InputTypeConvolutionalFlat flat
                    ? flat.getFlattenedSize()
                    : ((InputTypeFeedForward) type).getSize()
        };
    }
}
