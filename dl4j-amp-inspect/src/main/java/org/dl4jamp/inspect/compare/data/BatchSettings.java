package org.dl4jamp.inspect.compare.data;

import java.util.List;
import org.dl4jamp.precision.AmpException;

/**
 * The number and the size of batches.
 *
 * @param batch examples in a batch
 * @param batches how many batches, at most where a file has fewer examples
 * @param timesteps how long sequences are
 * @param seed of random numbers
 * @param sizes sizes of the network's inputs where the model leaves them open, such as {@code 3,224,224} for images.
 *     One text for each input, in order; may be empty
 */
public record BatchSettings(int batch, int batches, int timesteps, long seed, List<String> sizes) {
    public BatchSettings {
        requireOne("batch", batch);
        requireOne("batches", batches);
        requireOne("timesteps", timesteps);
        sizes = List.copyOf(AmpException.ifNull(sizes, "sizes", "a list, empty if the model has the sizes"));
    }

    private static void requireOne(String name, int value) {
        if (value < 1) {
            throw new AmpException(name + " " + value + ": must be at least 1");
        }
    }
}
