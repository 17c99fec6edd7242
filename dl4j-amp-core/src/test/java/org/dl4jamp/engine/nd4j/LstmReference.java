package org.dl4jamp.engine.nd4j;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An LSTM by its formulas, number by number, with bounds for their errors. Masks as in DL4J: activations and memory
 * cells are multiplied by them going forward, and going backward nothing is.
 */
final class LstmReference {
    private static final int INPUT = 0;
    private static final int FORGET = 1;
    private static final int OUTPUT = 2;
    private static final int GATE = 3;

    private final INDArray input;
    private final INDArray weights;
    private final INDArray recurrent;
    private final INDArray bias;
    private final Curve activation;
    private final Curve gate;
    private final boolean half;
    private final int minibatch;
    private final int units;
    private final int steps;

    private final INDArray firstActivation;
    private final INDArray firstMemory;
    /** Indices: time, example, unit or column. */
    private final Bounded[][][] before;

    private final Bounded[][][] after;
    private final Bounded[][][] memory;
    private final Bounded[][][] activatedMemory;
    private final Bounded[][][] hidden;
    private final Bounded[][][] factor;
    private final Bounded[][][] delta;
    private final Bounded[][][] deltaFactor;
    private int firstStep;

    /**
     * Runs forward.
     *
     * @param input {@code [minibatch, nIn, time]}
     * @param mask {@code [minibatch, time]} or null
     * @param firstActivation {@code [minibatch, n]} or null
     * @param firstMemory {@code [minibatch, n]} or null
     * @param half whether factors of products, and results, are rounded to HALF
     */
    LstmReference(
            org.deeplearning4j.nn.api.Layer layer,
            INDArray input,
            INDArray mask,
            INDArray firstActivation,
            INDArray firstMemory,
            boolean half) {
        LSTM conf = (LSTM) layer.conf().getLayer();
        this.input = input;
        this.weights = layer.getParam("W");
        this.recurrent = layer.getParam("RW");
        this.bias = layer.getParam("b");
        this.activation = Curve.of(conf.getActivationFn());
        this.gate = Curve.of(conf.getGateActivationFn());
        this.half = half;
        this.minibatch = (int) input.size(0);
        this.units = (int) recurrent.size(0);
        this.steps = (int) input.size(2);
        this.firstActivation = firstActivation;
        this.firstMemory = firstMemory;
        before = new Bounded[steps][minibatch][4 * units];
        after = new Bounded[steps][minibatch][4 * units];
        memory = new Bounded[steps][minibatch][units];
        activatedMemory = new Bounded[steps][minibatch][units];
        hidden = new Bounded[steps][minibatch][units];
        factor = new Bounded[steps][minibatch][units];
        delta = new Bounded[steps][minibatch][4 * units];
        deltaFactor = new Bounded[steps][minibatch][4 * units];
        for (int time = 0; time < steps; time++) {
            for (int example = 0; example < minibatch; example++) {
                forward(time, example, Bounded.exact(mask == null ? 1 : mask.getDouble(example, time)));
            }
        }
    }

    private Bounded rounded(Bounded number) {
        return half ? number.toHalf() : number;
    }

    private void forward(int time, int example, Bounded visible) {
        List<Bounded> previous = previousHidden(time, example);
        for (int column = 0; column < 4 * units; column++) {
            Bounded z = Bounded.dot(inputs(time, example), column(weights, column))
                    .plus(Bounded.dot(previous, column(recurrent, column)))
                    .plus(Bounded.exact(bias.getDouble(column)));
            before[time][example][column] = z;
            after[time][example][column] = column < units ? activation.at(z) : gate.at(z);
        }
        for (int unit = 0; unit < units; unit++) {
            Bounded now = after(time, example, FORGET, unit)
                    .times(previousMemory(time, example, unit))
                    .plus(after(time, example, GATE, unit).times(after(time, example, INPUT, unit)));
            activatedMemory[time][example][unit] = activation.at(now);
            memory[time][example][unit] = now.times(visible);
            hidden[time][example][unit] = after(time, example, OUTPUT, unit)
                    .times(activatedMemory[time][example][unit])
                    .times(visible);
            factor[time][example][unit] = rounded(hidden[time][example][unit]);
        }
    }

    private Bounded after(int time, int example, int block, int unit) {
        return after[time][example][block * units + unit];
    }

    private List<Bounded> inputs(int time, int example) {
        return IntStream.range(0, (int) input.size(1))
                .mapToObj(i -> Bounded.exact(input.getDouble(example, i, time)))
                .toList();
    }

    private static List<Bounded> column(INDArray matrix, int column) {
        return IntStream.range(0, (int) matrix.size(0))
                .mapToObj(row -> Bounded.exact(matrix.getDouble(row, column)))
                .toList();
    }

    private static List<Bounded> row(INDArray matrix, int row) {
        return IntStream.range(0, (int) matrix.size(1))
                .mapToObj(column -> Bounded.exact(matrix.getDouble(row, column)))
                .toList();
    }

    private List<Bounded> previousHidden(int time, int example) {
        if (time > 0) {
            return List.of(factor[time - 1][example]);
        }
        return IntStream.range(0, units)
                .mapToObj(unit -> firstActivation == null
                        ? Bounded.ZERO
                        : rounded(Bounded.exact(firstActivation.getDouble(example, unit))))
                .toList();
    }

    private Bounded previousMemory(int time, int example, int unit) {
        if (time > 0) {
            return memory[time - 1][example][unit];
        }
        return firstMemory == null ? Bounded.ZERO : Bounded.exact(firstMemory.getDouble(example, unit));
    }

    /**
     * Runs backward.
     *
     * @param epsilon {@code [minibatch, n, time]}
     */
    LstmReference backward(INDArray epsilon, int firstStep) {
        this.firstStep = firstStep;
        Bounded[][] carried = new Bounded[minibatch][units];
        for (Bounded[] ofExample : carried) {
            Arrays.fill(ofExample, Bounded.ZERO);
        }
        for (int time = steps - 1; time >= firstStep; time--) {
            for (int example = 0; example < minibatch; example++) {
                for (int unit = 0; unit < units; unit++) {
                    Bounded error = Bounded.exact(epsilon.getDouble(example, unit, time));
                    if (time < steps - 1) {
                        error = error.plus(Bounded.dot(List.of(deltaFactor[time + 1][example]), row(recurrent, unit)));
                    }
                    carried[example][unit] = backward(time, example, unit, error, carried[example][unit]);
                }
                for (int column = 0; column < 4 * units; column++) {
                    deltaFactor[time][example][column] = rounded(delta[time][example][column]);
                }
            }
        }
        return this;
    }

    private Bounded backward(int time, int example, int unit, Bounded error, Bounded carried) {
        Bounded memoryError = activation
                .slopeAt(memory[time][example][unit])
                .times(error.times(after(time, example, OUTPUT, unit)))
                .plus(carried);
        setDelta(time, example, OUTPUT, unit, gate, error.times(activatedMemory[time][example][unit]));
        setDelta(time, example, FORGET, unit, gate, memoryError.times(previousMemory(time, example, unit)));
        setDelta(time, example, GATE, unit, gate, memoryError.times(after(time, example, INPUT, unit)));
        setDelta(time, example, INPUT, unit, activation, memoryError.times(after(time, example, GATE, unit)));
        return memoryError.times(after(time, example, FORGET, unit));
    }

    private void setDelta(int time, int example, int block, int unit, Curve curve, Bounded error) {
        int column = block * units + unit;
        delta[time][example][column] =
                curve.slopeAt(before[time][example][column]).times(error);
    }

    /** At {@code [minibatch, n, time]}. */
    Bounded output(int... at) {
        return factor[at[2]][at[0]][at[1]];
    }

    /** Activations after the last time step, not rounded, at {@code [minibatch, n]}. */
    Bounded lastActivation(int... at) {
        return hidden[steps - 1][at[0]][at[1]];
    }

    Bounded lastMemory(int... at) {
        return memory[steps - 1][at[0]][at[1]];
    }

    Bounded inputWeightGradient(int... at) {
        return weightGradient(at[1], (time, example) -> Bounded.exact(input.getDouble(example, at[0], time)));
    }

    Bounded recurrentWeightGradient(int... at) {
        return weightGradient(
                at[1], (time, example) -> previousHidden(time, example).get(at[0]));
    }

    private interface LeftFactor {
        Bounded at(int time, int example);
    }

    private Bounded weightGradient(int column, LeftFactor leftFactor) {
        List<Bounded> left = new ArrayList<>();
        List<Bounded> right = new ArrayList<>();
        for (int time = firstStep; time < steps; time++) {
            for (int example = 0; example < minibatch; example++) {
                left.add(leftFactor.at(time, example));
                right.add(deltaFactor[time][example][column]);
            }
        }
        return Bounded.dot(left, right);
    }

    Bounded biasGradient(int... at) {
        List<Bounded> terms = new ArrayList<>();
        for (int time = firstStep; time < steps; time++) {
            for (int example = 0; example < minibatch; example++) {
                terms.add(delta[time][example][at[0]]);
            }
        }
        return Bounded.sum(terms);
    }

    /** At {@code [minibatch, nIn, time]}. */
    Bounded inputGradient(int... at) {
        return at[2] < firstStep
                ? Bounded.ZERO
                : rounded(Bounded.dot(List.of(deltaFactor[at[2]][at[0]]), row(weights, at[1])));
    }
}
