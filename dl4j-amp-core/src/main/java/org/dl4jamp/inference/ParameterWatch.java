package org.dl4jamp.inference;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import org.deeplearning4j.nn.api.Layer;
import org.dl4jamp.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Notices that a layer's parameters have changed, by their very bits, without reading all of them each time: of each parameter array {@value #SAMPLE} numbers are compared, in even distances, or all if there aren't more;
 * and one of {@value #SLICES} slices of all numbers, one after the other, with its checksum. So a new set of numbers is noticed at once, and a single number that was changed in
 * place after {@value #SLICES} questions at the latest.
 */
final class ParameterWatch {
    /** How many numbers of each parameter array are compared. */
    static final int SAMPLE = 64;

    /** After how many questions all numbers have been compared. */
    static final int SLICES = 64;

    /** Beyond which a layer's numbers are read in slices. */
    private static final int SMALL = 256;

    private final Layer master;
    private INDArray parameters;
    private ParameterBits bits;
    private long[] positions;
    private int[] sample;
    private long slice;
    private int[] sums;
    private int next;

    /**
     * @param master a layer with parameters
     */
    ParameterWatch(Layer master) {
        this.master = master;
    }

    /** Takes the numbers of now for those that later ones are compared with. */
    void remember() {
        INDArray now = master.params();
        if (parameters == null) {
            parameters = now;
            bits = ParameterBits.of(now);
            positions = positions();
            sample = new int[positions.length];
            slice = Math.max(SMALL, (now.length() + SLICES - 1) / SLICES);
            sums = new int[(int) ((now.length() + slice - 1) / slice)];
        }
        requireSameArray(now);
        bits.read(positions, sample);
        for (int i = 0; i < sums.length; i++) {
            sums[i] = sum(i);
        }
        next = 0;
    }

    /** Whether they are others than those remembered, as far as was looked. */
    boolean hasChanged() {
        requireSameArray(master.params());
        if (!bits.are(positions, sample)) {
            return true;
        }
        int looked = next;
        next = (next + 1) % sums.length;
        return sum(looked) != sums[looked];
    }

    private int sum(int number) {
        long start = number * slice;
        return bits.sum(start, Math.min(slice, parameters.length() - start));
    }

    private void requireSameArray(INDArray now) {
        if (now != parameters
                && (now.length() != parameters.length()
                        || now.offset() != parameters.offset()
                        || now.data().address() != parameters.data().address())) {
            throw new AmpException(
                    "Layer \"" + master.conf().getLayer().getLayerName()
                            + "\" has another parameter array than when inference mode was entered, by setParamsViewArray for example."
                            + " Close the InferenceMode and enter it again; setParams and setParam change the numbers in place");
        }
    }

    private long[] positions() {
        Collection<INDArray> arrays = master.paramTable().values();
        List<long[]> all = new ArrayList<>();
        for (INDArray array : arrays) {
            long first = array.offset() - parameters.offset();
            int count = (int) Math.min(SAMPLE, array.length());
            long[] own = new long[count];
            Arrays.setAll(own, i -> first + i * array.length() / count);
            all.add(own);
        }
        return all.stream().flatMapToLong(Arrays::stream).toArray();
    }
}
