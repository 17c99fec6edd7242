package org.dl4jamp.onednn.pooling;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.bytedeco.dnnl.global.dnnl;
import org.dl4jamp.onednn.memory.Gather;
import org.dl4jamp.onednn.memory.Layout;
import org.dl4jamp.onednn.memory.Workspaces;
import org.dl4jamp.onednn.primitive.Kernel;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.dl4jamp.onednn.primitive.Positions;
import org.dl4jamp.onednn.primitive.Work;

/** Maximum or average of every so many-th window, in inference. */
record PartialPooling(
        OneDnnContext context,
        String what,
        dnnl.algorithm kind,
        WindowGeometry geometry,
        Layout in,
        Layout out,
        Map<List<Long>, Kernel> made)
        implements Positions.Selection, AutoCloseable {
    PartialPooling(
            OneDnnContext context, String what, dnnl.algorithm kind, WindowGeometry geometry, Layout in, Layout out) {
        this(context, what, kind, geometry, in, out, new HashMap<>());
    }

    @Override
    public Optional<Kernel> kernel(List<Long> every) {
        return Optional.of(made.computeIfAbsent(every, this::make));
    }

    private Kernel make(List<Long> every) {
        WindowGeometry windows = geometry.every(every);
        Layout some = Layout.channelsLast(in.type(), Workspaces.shape(in.shape()[0], in.shape()[1], windows.output()));
        String name = what + ", one of each " + every + " positions";
        return OneDnnContext.make(
                name,
                Work.ofNumbers(some.length() * in.length() / out.length()),
                () -> new Kernel(
                        context,
                        name,
                        PoolingKernels.forward(
                                dnnl.prop_kind.forward_inference, kind, windows, in.descriptor(), some.descriptor())));
    }

    @Override
    public Gather copies(List<Long> every) {
        return WindowCopies.of(what, every, out);
    }

    @Override
    public void close() {
        made.values().forEach(Kernel::close);
    }
}
