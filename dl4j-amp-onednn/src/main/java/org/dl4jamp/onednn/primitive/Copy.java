package org.dl4jamp.onednn.primitive;

import org.bytedeco.dnnl.global.dnnl;
import org.dl4jamp.onednn.memory.Place;

/**
 * A copy between two types and orders in memory, made once and run many times, see {@link Copies#make}.
 *
 * @param kernel copies
 */
public record Copy(Kernel kernel) implements AutoCloseable {
    public void run(Place from, Place to) {
        kernel.bind(dnnl.DNNL_ARG_FROM, from).bind(dnnl.DNNL_ARG_TO, to).run();
    }

    @Override
    public void close() {
        kernel.close();
    }
}
