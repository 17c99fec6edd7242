package org.dl4jamp.benchmarks.kernels;

import org.bytedeco.dnnl.global.dnnl;
import org.dl4jamp.benchmarks.side.Workload;

/** Work whose kernels are oneDNN's, which prints them for {@link OneDnnLog}. */
public interface OneDnnWorkload extends Workload {
    @Override
    default void recordKernels(boolean isRecorded) {
        int status = dnnl.dnnl_set_verbose(isRecorded ? 1 : 0);
        if (status != dnnl.dnnl_success) {
            throw new IllegalStateException("oneDNN can't print its primitives: status " + status
                    + "; its library may have been built without that");
        }
    }
}
