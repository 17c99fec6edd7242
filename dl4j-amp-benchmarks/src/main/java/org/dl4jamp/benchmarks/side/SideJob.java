package org.dl4jamp.benchmarks.side;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Model;

/**
 * The task of a side's process, as a file in the folder of the case's {@link Model}.
 *
 * @param caseName the case
 * @param minibatch number of examples
 * @param task training or inference
 * @param schedule of a repetition
 * @param threads of the native libraries
 * @param records what to record of the measured steps
 * @param checksum of DL4J's initial parameters, with which DL4J's sides check that all sides begin at the same ones
 */
public record SideJob(
        String caseName, int minibatch, Task task, Schedule schedule, int threads, Records records, long checksum) {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String FILE = "job.json";

    /** A factory of a side's work, in the side's own process. */
    public interface Factory {
        /**
         * Makes a training.
         *
         * @param side the side's key
         * @param folder where the case's model is
         * @throws UnavailableException if there is nothing to measure
         */
        Training training(String side, Path folder, SideJob job) throws IOException;

        /**
         * Makes a network in inference mode.
         *
         * @param side the side's key
         * @param folder where the case's model is
         * @throws UnavailableException if there is nothing to measure
         */
        Inference inference(String side, Path folder, SideJob job) throws IOException;
    }

    public void write(Path folder) throws IOException {
        JSON.writeValue(folder.resolve(FILE).toFile(), this);
    }

    public static SideJob read(Path folder) throws IOException {
        return JSON.readValue(folder.resolve(FILE).toFile(), SideJob.class);
    }

    /**
     * The main program of a side.
     *
     * @param args the folder, the side's key, the file for the {@link Repetition}, and the port of the {@link Turns}
     */
    public static void main(String[] args, Factory factory) throws IOException {
        Path folder = Path.of(args[0]);
        SideJob job = read(folder);
        try (Turns turns = Turns.given(Integer.parseInt(args[3]))) {
            JSON.writeValue(Path.of(args[2]).toFile(), job.run(args[1], folder, factory, turns));
        }
    }

    private Repetition run(String side, Path folder, Factory factory, Turns turns) throws IOException {
        try {
            return task.isInference() ? infer(side, folder, factory, turns) : train(side, folder, factory, turns);
        } catch (UnavailableException e) {
            return Repetition.unavailable(e.getMessage());
        }
    }

    private Repetition train(String side, Path folder, Factory factory, Turns turns) throws IOException {
        try (Training training = factory.training(side, folder, this)) {
            return new Stopwatch(records, turns).run(training, schedule);
        }
    }

    private Repetition infer(String side, Path folder, Factory factory, Turns turns) throws IOException {
        float[] expected = Model.read(folder).tensors().get(Blueprint.OUTPUT).values();
        try (Inference inference = factory.inference(side, folder, this)) {
            return new Stopwatch(records, turns).run(inference, schedule, expected);
        }
    }
}
