package org.dl4jamp.inspect.drawing;

import com.mxgraph.layout.hierarchical.mxHierarchicalLayout;
import com.mxgraph.view.mxGraph;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import javax.swing.SwingConstants;
import org.dl4jamp.inspect.plan.Amounts;
import org.dl4jamp.inspect.plan.NetworkPlan;
import org.dl4jamp.inspect.plan.NetworkPlan.Cast;
import org.dl4jamp.inspect.plan.NetworkPlan.Edge;
import org.dl4jamp.inspect.plan.NetworkPlan.Layer;

/** Makes the cells of a drawing, and places them: stacks of layers, casts on the edges between them. */
final class GraphBuilder {
    private static final int BETWEEN_RANKS = 34;
    private static final int BESIDE = 28;
    private static final int COLUMN_GAP = 16;

    private final NetworkPlan plan;
    private final Map<String, Layer> layers;
    private final mxGraph graph = new mxGraph();
    private final Map<String, Object> cellOf = new HashMap<>();
    private final List<Runnable> fillings = new ArrayList<>();

    GraphBuilder(NetworkPlan plan) {
        this.plan = plan;
        this.layers = plan.layers().stream().collect(Collectors.toMap(Layer::name, layer -> layer));
    }

    /** Returns the graph with its layout, without title and legend. */
    mxGraph build() {
        graph.setHtmlLabels(false);
        graph.getModel().beginUpdate();
        try {
            plan.inputs().forEach(input -> addInput(input.name(), input.name() + ": " + input.shape()));
            Stack.of(plan).stream()
                    .filter(stack -> layers.containsKey(stack.first()))
                    .forEach(this::addStack);
            plan.edges().stream()
                    .filter(edge -> cellOf.get(edge.from()) != cellOf.get(edge.to()))
                    .forEach(this::addEdge);
            mxHierarchicalLayout layout = new mxHierarchicalLayout(graph, SwingConstants.NORTH);
            layout.setInterRankCellSpacing(BETWEEN_RANKS);
            layout.setIntraCellSpacing(BESIDE);
            layout.execute(graph.getDefaultParent());
            Columns.fold(graph);
            // Behind the layout, which would place the rows, too.
            fillings.forEach(Runnable::run);
        } finally {
            graph.getModel().endUpdate();
        }
        return graph;
    }

    private void addInput(String name, String text) {
        int width = Look.width(text) + 4 * Look.PADDING;
        Object cell = graph.insertVertex(
                null, null, text, 0, 0, width, Look.ROW_HEIGHT + 4, Look.INPUT.box() + "rounded=1;arcSize=40");
        cellOf.put(name, cell);
    }

    private void addStack(Stack stack) {
        List<Layer> rows = stack.names().stream().map(layers::get).toList();
        int names = widest(rows.stream().map(Layer::name).map(Look::boldWidth).toList());
        int classes =
                widest(rows.stream().map(Layer::className).map(Look::width).toList());
        int shapes =
                widest(rows.stream().map(GraphBuilder::shape).map(Look::width).toList());
        int flops =
                widest(rows.stream().map(GraphBuilder::flops).map(Look::width).toList());
        int width = names + classes + shapes + flops + 3 * COLUMN_GAP + 2 * Look.PADDING + 4;
        int height = rows.size() * Look.ROW_HEIGHT;
        Object frame = graph.insertVertex(null, null, null, 0, 0, width, height, "fillColor=#ffffff;strokeColor=none");
        rows.forEach(layer -> cellOf.put(layer.name(), frame));
        fillings.add(() -> fill(frame, rows, new int[] {names, classes, shapes, flops}, width));
    }

    private void fill(Object frame, List<Layer> rows, int[] columns, int width) {
        int y = 0;
        for (Layer layer : rows) {
            Object row = child(frame, null, 0, y, width, Look.of(layer).box());
            int x = Look.PADDING + 4;
            child(row, layer.name(), x, 0, columns[0], Look.label("left", Look.FONT_SIZE) + "fontStyle=1");
            x += columns[0] + COLUMN_GAP;
            child(row, layer.className(), x, 0, columns[1], Look.label("left", Look.FONT_SIZE));
            x += columns[1] + COLUMN_GAP;
            child(row, shape(layer), x, 0, columns[2], Look.label("right", Look.FONT_SIZE));
            x += columns[2] + COLUMN_GAP;
            child(row, flops(layer), x, 0, columns[3], Look.label("right", Look.FONT_SIZE));
            y += Look.ROW_HEIGHT;
        }
        addFusions(rows, frame);
    }

    private void addFusions(List<Layer> rows, Object frame) {
        for (int i = 0; i + 1 < rows.size(); i++) {
            String first = rows.get(i).name();
            String then = rows.get(i + 1).name();
            boolean fused = plan.fusions().stream()
                    .anyMatch(fusion ->
                            fusion.first().equals(first) && fusion.then().equals(then));
            if (fused) {
                graph.insertVertex(
                        frame, null, null, 1, i * Look.ROW_HEIGHT + 3, 4, 2 * Look.ROW_HEIGHT - 6, Look.FUSED);
            }
        }
    }

    private Object child(Object parent, String text, int x, int y, int width, String style) {
        return graph.insertVertex(parent, null, text, x, y, width, Look.ROW_HEIGHT, style);
    }

    private static int widest(List<Integer> widths) {
        return widths.stream().mapToInt(Integer::intValue).max().orElse(0);
    }

    private static String shape(Layer layer) {
        return layer.shape() == null ? "" : layer.shape();
    }

    private static String flops(Layer layer) {
        boolean none = layer.flops() != null && layer.flops() == 0;
        return none ? "" : Amounts.of(layer.flops(), "FLOP");
    }

    private void addEdge(Edge edge) {
        Object from = cellOf.get(edge.from());
        Object to = cellOf.get(edge.to());
        Cast cast = edge.cast();
        if (cast == null) {
            graph.insertEdge(null, null, null, from, to, Look.EDGE);
            return;
        }
        String text = "cast " + Look.name(cast.from()) + " \u2192 " + Look.name(cast.to());
        Object pill =
                graph.insertVertex(null, null, text, 0, 0, Look.boldWidth(text) + 2 * Look.PADDING, 18, Look.CAST);
        graph.insertEdge(null, null, null, from, pill, Look.CAST_EDGE + ";endArrow=none");
        graph.insertEdge(null, null, null, pill, to, Look.CAST_EDGE);
    }
}
