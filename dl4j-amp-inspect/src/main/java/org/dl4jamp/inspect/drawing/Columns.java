package org.dl4jamp.inspect.drawing;

import com.mxgraph.model.mxGeometry;
import com.mxgraph.model.mxIGraphModel;
import com.mxgraph.util.mxPoint;
import com.mxgraph.util.mxRectangle;
import com.mxgraph.view.mxGraph;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Folds a tall drawing into columns. A column ends only where all edges to the next come from one cell, such as behind
 * the block of a residual network.
 */
final class Columns {
    private static final int LEAST_HEIGHT = 1300;
    private static final int MOST_COLUMNS = 8;
    private static final double ASPECT = 1.4;
    private static final int GUTTER = 64;
    /** Room for edges above and below a column. */
    private static final int BEND = 18;

    private final mxIGraphModel model;
    private final List<Object> cells;
    private final List<Object> edges;

    private Columns(mxGraph graph) {
        this.model = graph.getModel();
        this.cells = Arrays.asList(graph.getChildVertices(graph.getDefaultParent()));
        this.edges = Arrays.asList(graph.getChildEdges(graph.getDefaultParent()));
    }

    /** Folds the top-level cells of a graph, if they're taller than a screen. */
    static void fold(mxGraph graph) {
        Columns columns = new Columns(graph);
        double width = columns.bounds(columns.cells).getWidth();
        double height = columns.bounds(columns.cells).getHeight();
        int wanted = 1;
        for (int n = 2; n <= MOST_COLUMNS && height > LEAST_HEIGHT; n++) {
            wanted = distance(width, height, n) < distance(width, height, wanted) ? n : wanted;
        }
        List<Double> cuts = columns.cuts(wanted);
        if (!cuts.isEmpty()) {
            columns.place(cuts);
        }
    }

    /** Returns how far the aspect ratio of a number of columns is from the wanted one. */
    private static double distance(double width, double height, int columns) {
        return Math.abs(Math.log((width + GUTTER) * columns / (height / columns) / ASPECT));
    }

    private mxRectangle bounds(List<Object> some) {
        mxRectangle bounds = new mxRectangle(box(some.get(0)));
        some.forEach(cell -> bounds.add(box(cell)));
        return bounds;
    }

    private mxGeometry box(Object cell) {
        return model.getGeometry(cell);
    }

    private double bottom(Object cell) {
        return box(cell).getY() + box(cell).getHeight();
    }

    /** Returns the heights at which to cut, the nearest ones to those of columns of one height. */
    private List<Double> cuts(int columns) {
        List<Double> possible = cells.stream()
                .map(this::bottom)
                .distinct()
                .filter(this::canCut)
                .sorted()
                .toList();
        mxRectangle all = bounds(cells);
        Set<Double> cuts = new HashSet<>();
        for (int i = 1; i < columns; i++) {
            double wanted = all.getY() + all.getHeight() * i / columns;
            possible.stream()
                    .min((a, b) -> Double.compare(Math.abs(a - wanted), Math.abs(b - wanted)))
                    .ifPresent(cuts::add);
        }
        return cuts.stream().sorted().toList();
    }

    private boolean canCut(double y) {
        boolean through = cells.stream().anyMatch(cell -> box(cell).getY() < y && bottom(cell) > y);
        long sources = edges.stream()
                .filter(edge -> bottom(source(edge)) <= y && bottom(target(edge)) > y)
                .map(this::source)
                .distinct()
                .count();
        return !through && sources == 1;
    }

    private Object source(Object edge) {
        return model.getTerminal(edge, true);
    }

    private Object target(Object edge) {
        return model.getTerminal(edge, false);
    }

    private void place(List<Double> cuts) {
        Map<Object, Integer> columnOf = new HashMap<>();
        List<List<Object>> columns = new ArrayList<>();
        for (int i = 0; i <= cuts.size(); i++) {
            columns.add(new ArrayList<>());
        }
        for (Object cell : cells) {
            int column = (int) cuts.stream().filter(cut -> bottom(cell) > cut).count();
            columnOf.put(cell, column);
            columns.get(column).add(cell);
        }
        // The edges that stay in a column, by column: bends are beside cells, and need room, too.
        List<List<Object>> inner = new ArrayList<>();
        columns.forEach(column -> inner.add(new ArrayList<>()));
        edges.stream()
                .filter(edge -> columnOf.get(source(edge)).equals(columnOf.get(target(edge))))
                .forEach(edge -> inner.get(columnOf.get(source(edge))).add(edge));
        Map<Object, List<mxPoint>> tails = tails(columns, columnOf);
        double x = 0;
        double[] rights = new double[columns.size()];
        mxPoint[] moved = new mxPoint[columns.size()];
        for (int i = 0; i < columns.size(); i++) {
            mxRectangle bounds = bounds(columns.get(i));
            inner.get(i).forEach(edge -> points(edge)
                    .forEach(point -> bounds.add(new mxRectangle(point.getX(), point.getY(), 0, 0))));
            moved[i] = new mxPoint(x - bounds.getX(), -bounds.getY());
            move(columns.get(i), inner.get(i), moved[i]);
            x += bounds.getWidth() + GUTTER;
            rights[i] = x - GUTTER / 2.0;
        }
        for (Object edge : edges) {
            int column = columnOf.get(source(edge));
            int next = columnOf.get(target(edge));
            if (column != next) {
                route(edge, rights[column], tails.get(edge), moved[next]);
            }
        }
    }

    /** Leads an edge from the foot of its source through a gutter to the top of another column, and on as before. */
    private void route(Object edge, double gutter, List<mxPoint> tail, mxPoint moved) {
        double start = box(source(edge)).getCenterX();
        double below = bottom(source(edge)) + BEND;
        double end =
                tail.isEmpty() ? box(target(edge)).getCenterX() : tail.get(0).getX() + moved.getX();
        List<mxPoint> points = new ArrayList<>(List.of(
                new mxPoint(start, below),
                new mxPoint(gutter, below),
                new mxPoint(gutter, -BEND),
                new mxPoint(end, -BEND)));
        tail.forEach(point -> points.add(new mxPoint(point.getX() + moved.getX(), point.getY() + moved.getY())));
        setPoints(edge, points);
    }

    /** Returns those bends of edges between columns that are beside cells of the target's column, before it's moved. */
    private Map<Object, List<mxPoint>> tails(List<List<Object>> columns, Map<Object, Integer> columnOf) {
        Map<Object, List<mxPoint>> tails = new HashMap<>();
        for (Object edge : edges) {
            int column = columnOf.get(target(edge));
            double top = bounds(columns.get(column)).getY();
            tails.put(
                    edge,
                    points(edge).stream().filter(point -> point.getY() > top).toList());
        }
        return tails;
    }

    private void move(List<Object> column, List<Object> inner, mxPoint by) {
        for (Object cell : column) {
            mxGeometry moved = (mxGeometry) box(cell).clone();
            moved.translate(by.getX(), by.getY());
            model.setGeometry(cell, moved);
        }
        for (Object edge : inner) {
            setPoints(
                    edge,
                    points(edge).stream()
                            .map(point -> new mxPoint(point.getX() + by.getX(), point.getY() + by.getY()))
                            .toList());
        }
    }

    private List<mxPoint> points(Object edge) {
        List<mxPoint> points = box(edge).getPoints();
        return points == null ? List.of() : points;
    }

    private void setPoints(Object edge, List<mxPoint> points) {
        mxGeometry geometry = (mxGeometry) box(edge).clone();
        geometry.setPoints(new ArrayList<>(points));
        model.setGeometry(edge, geometry);
    }
}
