package org.dl4jamp.onednn.normalization;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.global.dnnl;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Slab;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Work;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Mean and variance of the channels of a large minibatch. oneDNN computes those of slices, each small enough for sums
 * in FP32 and for the processor's cache. In double precision they are put together, as in Chan, Golub and LeVeque,
 * "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979.
 */
final class BatchStatistics implements AutoCloseable {
    /** The most numbers of a channel in a slice. Of as many a variance is off by 4e-6 at most. */
    private static final long SLICE = 16_384;

    private final int channels;
    private final List<Slice> slices = new ArrayList<>();
    private final List<Kernel> kernels = new ArrayList<>();

    /** Consecutive numbers of each channel. Slices of the same length share their kernel. */
    private record Slice(Kernel kernel, long first, long length) {}

    BatchStatistics(OneDnnContext context, String what, Layout layout) {
        long[] shape = layout.shape();
        channels = (int) shape[1];
        long numbers = layout.length() / channels;
        long count = (numbers + SLICE - 1) / SLICE;
        long most = (numbers + count - 1) / count;
        for (long first = 0; first < numbers; first += most) {
            long length = Math.min(most, numbers - first);
            if (first == 0 || length < most) {
                kernels.add(kernel(context, what, Layout.channelsLast(layout.type(), 1, channels, length, 1)));
            }
            slices.add(new Slice(kernels.get(kernels.size() - 1), first, length));
        }
    }

    private static Kernel kernel(OneDnnContext context, String what, Layout layout) {
        return Work.ofNumbers(layout.length())
                .withItsThreads(() -> new Kernel(
                        context, what + ", statistics", BatchNormKernels.forward(layout.descriptor(), 1, 0, true)));
    }

    /** Returns whether a channel has so many numbers that slices are worth their time, a fifth of the pass. */
    static boolean areSliced(Layout layout) {
        return layout.length() > 2 * SLICE * layout.shape()[1];
    }

    /**
     * Writes mean and variance of each channel.
     *
     * @param scratch of the input's type and size, is overwritten
     */
    void measure(INDArray input, BatchNormKernels.Channels result, INDArray scratch) {
        double[] means = new double[channels];
        double[] squares = new double[channels];
        long before = 0;
        for (Slice slice : slices) {
            slice.kernel()
                    .bind(dnnl.DNNL_ARG_SRC, at(input, slice))
                    .bind(dnnl.DNNL_ARG_DST, at(scratch, slice))
                    .bind(dnnl.DNNL_ARG_MEAN, result.mean())
                    .bind(dnnl.DNNL_ARG_VARIANCE, result.variance())
                    .run();
            float[] itsMeans = RunningStatistics.read(result.mean());
            float[] itsVariances = RunningStatistics.read(result.variance());
            long together = before + slice.length();
            double part = (double) slice.length() / together;
            for (int i = 0; i < channels; i++) {
                double distance = itsMeans[i] - means[i];
                means[i] += distance * part;
                squares[i] += slice.length() * (double) itsVariances[i] + distance * distance * before * part;
            }
            before = together;
        }
        float[] all = new float[channels];
        for (int i = 0; i < channels; i++) {
            all[i] = (float) means[i];
        }
        RunningStatistics.write(all, result.mean());
        for (int i = 0; i < channels; i++) {
            all[i] = (float) (squares[i] / before);
        }
        RunningStatistics.write(all, result.variance());
    }

    private Slab at(INDArray array, Slice slice) {
        return new Slab(array, slice.first() * channels);
    }

    @Override
    public void close() {
        kernels.forEach(Kernel::close);
    }
}
