package org.dl4jamp.onednn.linear;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_desc;
import org.dl4jamp.onednn.linear.ProductDescriptions.Pass;
import org.dl4jamp.onednn.memory.Gather;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.pooling.WindowCopies;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Positions;
import org.dl4jamp.onednn.primitive.Work;

/**
 * Kernels of a forward pass for some of its rows or positions. They read the same copies of weights as the kernel of
 * all.
 */
final class PartialKernels implements Kernel.Rows, Positions.Selection, AutoCloseable {
    private final OneDnnContext context;
    private final ProductDescriptions<?> descriptions;
    private final Pass pass;
    private final String what;
    private final Map<Long, Optional<Kernel>> ofRows = new HashMap<>();
    private final Map<List<Long>, Optional<Kernel>> ofPositions = new HashMap<>();

    /** @param what layer, primitive and shapes of the whole pass, for error messages */
    PartialKernels(OneDnnContext context, ProductDescriptions<?> descriptions, Pass pass, String what) {
        this.context = context;
        this.descriptions = descriptions;
        this.pass = pass;
        this.what = what;
    }

    @Override
    public long count() {
        return descriptions.rows();
    }

    @Override
    public long inputBytes() {
        return bytesOfRow(descriptions.task().input());
    }

    @Override
    public long outputBytes() {
        return bytesOfRow(descriptions.outputOf(pass));
    }

    private static long bytesOfRow(Layout layout) {
        return layout.shape()[1] * layout.type().width();
    }

    @Override
    public Optional<Kernel> kernel(long rows) {
        // All kernels of a tile share its rows among the same threads: each finds in its cache what it has written.
        return ofRows.computeIfAbsent(
                rows,
                of -> make(", " + of + " rows at once", Work.LARGE, weights -> Optional.of(descriptions.ofRows(of))
                        .filter(part -> part.forward().weights_desc().equals(weights))
                        .map(part -> part.of(pass))));
    }

    @Override
    public Optional<Kernel> kernel(List<Long> every) {
        return ofPositions.computeIfAbsent(every, of -> {
            ProductDescriptions<?> part = descriptions.every(of);
            return make(", one of each " + of + " positions", part.task().work(), weights -> Optional.of(
                            part.of(pass, weights))
                    .filter(this::isLikeAll));
        });
    }

    private Optional<Kernel> make(
            String suffix, Work work, Function<memory.desc, Optional<primitive_desc>> description) {
        return OneDnnContext.make(what + suffix, work, () -> description
                .apply(descriptions.forward().weights_desc())
                .map(of -> new Kernel(context, what + suffix, of)));
    }

    /**
     * Few of oneDNN's implementations read the weights in another one's order. Others are thousands of times slower.
     */
    private boolean isLikeAll(primitive_desc description) {
        return description
                .impl_info_str()
                .getString()
                .equals(descriptions.of(pass).impl_info_str().getString());
    }

    /** Returns what the pass computes at each position; empty if it isn't made of windows over an input in place. */
    Optional<Positions> positions() {
        return descriptions
                .windows(pass)
                .map(windows -> new Positions(
                        descriptions.samples(),
                        descriptions.outputOf(pass),
                        windows.steps(),
                        windows.isPointwise(),
                        Optional.of(this)));
    }

    @Override
    public Gather copies(List<Long> every) {
        return WindowCopies.of(what, every, descriptions.outputOf(pass));
    }

    @Override
    public void close() {
        ofRows.values().forEach(kernel -> kernel.ifPresent(Kernel::close));
        ofPositions.values().forEach(kernel -> kernel.ifPresent(Kernel::close));
    }
}
