package org.dl4jamp.onednn;

import java.util.Optional;
import org.deeplearning4j.nn.conf.CNN2DFormat;

/** The formats of images that there are kernels for. */
final class Images {
    private Images() {}

    /** Why there are none for a format, empty if there are. */
    static Optional<String> without(CNN2DFormat format) {
        return format == CNN2DFormat.NCHW ? LayerKernels.COVERED : LayerKernels.because("format " + format);
    }
}
