package org.dl4jamp.inspect.drawing;

import com.mxgraph.util.mxCellRenderer;
import com.mxgraph.util.mxXmlUtils;
import com.mxgraph.view.mxGraph;
import java.awt.Color;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import javax.imageio.ImageIO;
import org.dl4jamp.inspect.plan.NetworkPlan;

/**
 * The drawing of a plan: a graph of its layers, coloured by their precisions, with casts and fusions, and a legend.
 *
 * <pre>
 * PlanDrawing drawing = new PlanDrawing(plan, "model.zip");
 * Files.writeString(Path.of("plan.svg"), drawing.svg());
 * </pre>
 */
public final class PlanDrawing {
    /** An image up to this many pixels is drawn at twice the size. */
    private static final double MOST_PIXELS = 24e6;

    private final mxGraph graph;

    /**
     * Lays out a plan.
     *
     * @param title the drawing's title, such as the name of the model's file
     */
    public PlanDrawing(NetworkPlan plan, String title) {
        graph = new GraphBuilder(plan).build();
        Heading.add(plan, title, graph, graph.getGraphBounds());
    }

    /** Returns the drawing as an SVG element, for a file or to be part of an HTML page. */
    public String svg() {
        return mxXmlUtils.getXml(mxCellRenderer
                .createSvgDocument(graph, null, 1, Color.WHITE, null)
                .getDocumentElement());
    }

    /** Returns the drawing as the bytes of a PNG file, at twice the size unless it's huge. */
    public byte[] png() {
        double pixels =
                graph.getGraphBounds().getWidth() * graph.getGraphBounds().getHeight();
        double scale = 4 * pixels <= MOST_PIXELS ? 2 : 1;
        BufferedImage image = mxCellRenderer.createBufferedImage(graph, null, scale, Color.WHITE, true, null);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            ImageIO.write(image, "png", bytes);
        } catch (IOException e) {
            throw new UncheckedIOException("an array takes every byte", e);
        }
        return bytes.toByteArray();
    }
}
