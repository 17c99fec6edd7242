package org.dl4jamp.inspect.compare.data;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Batches from a file of comma-separated values, for networks with one input and one output. Each row has features,
 * then labels. A header is optional.
 *
 * <ul>
 *   <li>Images: the features of a row are in the order of the network's input, channels, height, width as a rule.
 *   <li>Sequences: a row is one time step, and as many rows in a row as there are time steps are one sequence. Where
 *       the network has one output for a sequence, the labels of its last row count.
 *   <li>Classes: one column for each, with a one among zeros, or one column with the number of the class, from 0 on.
 * </ul>
 */
public final class CsvBatches {
    private final Path file;
    private final NetworkShapes.Input input;
    private final NetworkShapes.Output output;
    private final int steps;
    private final int features;
    private final int labels;

    private CsvBatches(Path file, NetworkShapes shapes, int timesteps) {
        if (shapes.inputs().size() > 1 || shapes.outputs().size() > 1) {
            throw new AmpException(file + ": the network has " + shapes.inputs().size() + " inputs and "
                    + shapes.outputs().size() + " outputs, and a file of rows has one of each; use --random");
        }
        this.file = file;
        input = shapes.inputs().get(0);
        output = shapes.outputs().get(0);
        steps = input.sequence() ? timesteps : 1;
        features = Math.toIntExact(NetworkShapes.length(input.sizes()) / steps);
        labels = Math.toIntExact(NetworkShapes.length(output.sizes()) / (labelsOfEachStep() ? steps : 1));
    }

    private boolean labelsOfEachStep() {
        return input.sequence() && output.sizes().size() > 1;
    }

    /**
     * Reads batches, the last of which may be smaller.
     *
     * @throws AmpException if the file can't be read, has no rows, something other than numbers, another number of
     *     columns than the network's input and output have, or no whole sequences. Also if the network has several
     *     inputs or outputs, or the shape of its input can't be told
     */
    public static List<MultiDataSet> read(Path file, Model network, BatchSettings settings) {
        NetworkShapes shapes = NetworkShapes.of(network, settings.sizes(), settings.timesteps());
        CsvBatches csv = new CsvBatches(file, shapes, settings.timesteps());
        List<CsvFile.Row> rows = CsvFile.read(file, (long) settings.batch() * settings.batches() * csv.steps);
        if (rows.size() % csv.steps != 0) {
            throw new AmpException(file + ": has " + rows.size() + " rows, which aren't whole sequences of " + csv.steps
                    + " time steps; each row is a time step, set their number with --timesteps");
        }
        List<MultiDataSet> batches = new ArrayList<>();
        int size = settings.batch() * csv.steps;
        for (int start = 0; start < rows.size(); start += size) {
            batches.add(csv.batch(rows.subList(start, Math.min(rows.size(), start + size))));
        }
        return batches;
    }

    private MultiDataSet batch(List<CsvFile.Row> rows) {
        int examples = rows.size() / steps;
        // One row for each time step, or one for each example.
        INDArray in = Nd4j.create(DataType.FLOAT, rows.size(), features);
        INDArray out = Nd4j.create(DataType.FLOAT, labelsOfEachStep() ? rows.size() : examples, columns());
        for (int i = 0; i < rows.size(); i++) {
            CsvFile.Row row = rows.get(i);
            requireColumns(row);
            for (int column = 0; column < features; column++) {
                in.putScalar(i, column, symbol(row, column));
            }
            if (labelsOfEachStep()) {
                putLabels(row, out, i);
            } else if (i % steps == steps - 1) {
                putLabels(row, out, i / steps);
            }
        }
        INDArray x = input.sequence()
                ? sequences(in, examples, features, input.channelsLast())
                : in.reshape('c', NetworkShapes.withExamples(examples, input.sizes()));
        INDArray y = labelsOfEachStep()
                ? sequences(out, examples, columns(), output.targets().channelsLast())
                : reshaped(out, examples);
        return new MultiDataSet(x, y);
    }

    private INDArray reshaped(INDArray out, int examples) {
        return isClassNumber() ? out : out.reshape('c', NetworkShapes.withExamples(examples, output.sizes()));
    }

    private INDArray sequences(INDArray rows, int examples, int size, boolean last) {
        INDArray bySteps = rows.reshape('c', examples, steps, size);
        return last ? bySteps : bySteps.permute(0, 2, 1).dup('c');
    }

    private boolean isClassNumber() {
        return output.targets().kind() == Targets.Kind.CLASS_NUMBER;
    }

    private int columns() {
        return isClassNumber() ? 1 : labels;
    }

    private boolean mayBeOneColumn() {
        return output.targets().kind() == Targets.Kind.ONE_HOT || isClassNumber();
    }

    private void requireColumns(CsvFile.Row row) {
        int given = row.values().size();
        boolean fits = !isClassNumber() && given == features + labels;
        if (!fits && !(mayBeOneColumn() && given == features + 1)) {
            String classes = mayBeOneColumn() ? " or the number of the class" : "";
            throw new AmpException(file + ": line " + row.number() + " has " + given + " columns; the network takes "
                    + features + " features and then " + (isClassNumber() ? 1 : labels) + " labels" + classes
                    + (input.sequence() ? ", for each time step" : ""));
        }
    }

    private float symbol(CsvFile.Row row, int column) {
        float value = row.values().get(column);
        if (input.symbols() > 0) {
            requireWhole(row, column, input.symbols(), "symbol");
        }
        return value;
    }

    private void putLabels(CsvFile.Row row, INDArray out, int at) {
        boolean byNumber = mayBeOneColumn() && row.values().size() == features + 1 && labels != 1;
        if (byNumber) {
            requireWhole(row, features, labels, "class");
        }
        if (byNumber && !isClassNumber()) {
            out.putScalar(at, row.values().get(features).intValue(), 1);
            return;
        }
        for (int i = 0; i < columns(); i++) {
            out.putScalar(at, i, row.values().get(features + i));
        }
    }

    private void requireWhole(CsvFile.Row row, int column, long below, String what) {
        float value = row.values().get(column);
        if (value != Math.rint(value) || value < 0 || value >= below) {
            throw new AmpException(file + ": line " + row.number() + ", column " + (column + 1) + ": " + value
                    + " isn't the number of a " + what + "; the network has 0 to " + (below - 1));
        }
    }
}
