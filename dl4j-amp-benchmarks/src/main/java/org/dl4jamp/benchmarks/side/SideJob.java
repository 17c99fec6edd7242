package org.dl4jamp.benchmarks.side;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;

/**
 * What the process of a side is to do, as a file in the folder of the case's {@link org.dl4jamp.benchmarks.blueprint.Model}.
 *
 * @param caseName the case
 * @param schedule how long
 * @param threads of the native libraries
 * @param profile whether to record where the time goes
 * @param checksum of DL4J's initial parameters, by which its own sides know that they begin where the others do
 */
public record SideJob(String caseName, Schedule schedule, int threads, boolean profile, long checksum) {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String FILE = "job.json";

    /** Makes the training of a side. */
    @FunctionalInterface
    public interface TrainingFactory {
        /**
         * Makes it, in the side's own process.
         *
         * @param side the side's key
         * @param folder where the case's model is
         * @throws UnavailableException if there is nothing to measure
         */
        Training make(String side, Path folder, SideJob job) throws IOException;
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
     * @param args the folder, the side's key, and the file for the {@link Repetition}
     */
    public static void main(String[] args, TrainingFactory factory) throws IOException {
        Path folder = Path.of(args[0]);
        SideJob job = read(folder);
        JSON.writeValue(Path.of(args[2]).toFile(), job.run(args[1], folder, factory));
    }

    private Repetition run(String side, Path folder, TrainingFactory factory) throws IOException {
        try (Training training = factory.make(side, folder, this)) {
            return profile ? Stopwatch.profile(training, schedule) : Stopwatch.run(training, schedule);
        } catch (UnavailableException e) {
            return Repetition.unavailable(e.getMessage());
        }
    }
}
