package org.dl4jamp.inference;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.indexer.FloatIndexer;
import org.deeplearning4j.nn.api.Layer;
import org.dl4jamp.layer.FreedParameters;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.twin.Twin;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.DynamicCustomOp;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The weights of a twin in inference mode: taken over before the first pass, and again when the parameters that they
 * are made of have changed.
 */
public final class WatchedWeights implements Twin.Weights {
    private final Twin.Weights weights;
    private final Runnable preparation;
    private final List<ParameterWatch> watches;
    private final AtomicLong requested = new AtomicLong(1);
    private long done;
    private long versions;

    /**
     * @param weights the twin's
     * @param preparation run before they are converted
     * @param masters the network's own layers of whose parameters they are made
     */
    public WatchedWeights(Twin.Weights weights, Runnable preparation, List<Layer> masters) {
        this.weights = weights;
        this.preparation = preparation;
        this.watches = masters.stream()
                .filter(master -> master.numParams() > 0)
                .map(master -> new ParameterWatch(master, Nd4j.getEnvironment().isCPU()))
                .toList();
    }

    /** Has them taken over before the next pass, from any thread. */
    @Override
    public void masterSet() {
        requested.incrementAndGet();
    }

    @Override
    public void refresh() {
        long now = requested.get();
        if (!areCurrent()) {
            // First: what another thread changes meanwhile is noticed the next time.
            watches.forEach(ParameterWatch::remember);
            done = 0;
            preparation.run();
            weights.refresh();
            done = now;
            versions++;
        }
    }

    /**
     * Returns the number of the set of weights that were taken over last; negative if some have to be taken over before
     * the next pass.
     */
    public static long version(List<WatchedWeights> all) {
        long sum = 0;
        for (WatchedWeights weights : all) {
            if (!weights.areCurrent()) {
                return -1;
            }
            sum += weights.versions;
        }
        return sum;
    }

    /**
     * Returns whether {@link #refresh} would do nothing. For each layer in each pass: streams here and in
     * {@link #version} took 3 % of a pass of ResNet-50 with one image in BFLOAT16.
     */
    private boolean areCurrent() {
        if (done != requested.get()) {
            return false;
        }
        for (ParameterWatch watch : watches) {
            if (watch.hasChanged()) {
                return false;
            }
        }
        return true;
    }

    @Override
    public void reload() {
        weights.reload();
    }

    /**
     * Notices that a layer has another set of parameters, by a sample: {@value #SAMPLE} numbers of each parameter
     * array, in even distances, or all if there aren't more. They are next to each other in {@value #RUN}s, which come
     * from memory at once. A change of other numbers alone isn't noticed.
     */
    static final class ParameterWatch {
        /** Number of elements of each parameter array that are compared. */
        static final int SAMPLE = 64;

        private static final int RUN = 4;

        private final Layer master;
        private final INDArray parameters;
        private final long[] positions;
        private final FloatIndexer host;
        private float[] sample;

        /**
         * @param master a layer with parameters
         * @param inHost whether they are in the host's memory
         */
        ParameterWatch(Layer master, boolean inHost) {
            this.master = master;
            this.parameters = master.params();
            this.positions = positions();
            this.host = inHost ? host() : null;
        }

        /** Takes the numbers of now for those that later ones are compared with. */
        void remember() {
            requireSameArray();
            sample = read();
        }

        /** Returns whether the sample is another one than that remembered, bit by bit. */
        boolean hasChanged() {
            requireSameArray();
            if (host == null) {
                return !Arrays.equals(sample, readWithNd4j());
            }
            for (int i = 0; i < positions.length; i++) {
                // In place: to read the sample into an array first takes ten times as long.
                if (Float.floatToRawIntBits(host.get(positions[i])) != Float.floatToRawIntBits(sample[i])) {
                    return true;
                }
            }
            return false;
        }

        private float[] read() {
            if (host == null) {
                return readWithNd4j();
            }
            float[] values = new float[positions.length];
            for (int i = 0; i < values.length; i++) {
                values[i] = host.get(positions[i]);
            }
            return values;
        }

        private float[] readWithNd4j() {
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                INDArray values = Nd4j.exec(DynamicCustomOp.builder("gather")
                        .addInputs(parameters.reshape(parameters.length()), Nd4j.createFromArray(positions))
                        .addIntegerArguments(0)
                        .build())[0];
                return values.toFloatVector();
            }
        }

        /** Returns null if the numbers aren't in the host's memory, one after the other. */
        private FloatIndexer host() {
            boolean adjacent = parameters.rank() > 0 && parameters.stride(parameters.rank() - 1) == 1;
            if (!adjacent) {
                return null;
            }
            FloatPointer numbers = new FloatPointer(parameters.data().addressPointer());
            return FloatIndexer.create(numbers.position(0).capacity(parameters.length()));
        }

        private void requireSameArray() {
            FreedParameters.refuse(master);
            INDArray now = master.params();
            if (!isSame(now)) {
                throw new AmpException("Layer \"" + master.conf().getLayer().getLayerName()
                        + "\" has another parameter array than when inference mode was entered, by"
                        + " setParamsViewArray for example."
                        + " Close the InferenceMode and enter it again; setParams and setParam change the numbers"
                        + " in place");
            }
        }

        @SuppressWarnings("ReferenceEquality")
        private boolean isSame(INDArray now) {
            return now == parameters
                    || (!parameters.wasClosed()
                            && now.length() == parameters.length()
                            && now.offset() == parameters.offset()
                            && now.data().platformAddress() == parameters.data().platformAddress());
        }

        /** Returns the positions, the first of each run before all others: many lines of memory are read at once. */
        private long[] positions() {
            return LongStream.range(0, RUN)
                    .flatMap(inRun ->
                            master.paramTable().values().stream().flatMapToLong(array -> positions(array, inRun)))
                    .toArray();
        }

        private LongStream positions(INDArray array, long inRun) {
            long start = array.offset() - parameters.offset();
            long length = array.length();
            return LongStream.range(0, Math.min(SAMPLE, length))
                    .filter(i -> i % RUN == inRun)
                    .map(i -> start + (length <= SAMPLE ? i : i / RUN * RUN * length / SAMPLE + inRun));
        }
    }
}
