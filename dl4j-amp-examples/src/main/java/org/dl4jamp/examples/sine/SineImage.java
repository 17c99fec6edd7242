package org.dl4jamp.examples.sine;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.Stroke;
import java.awt.geom.Rectangle2D;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import javax.imageio.ImageIO;
import org.jfree.chart.ChartFactory;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.axis.LogarithmicAxis;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.plot.SeriesRenderingOrder;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.renderer.xy.XYLineAndShapeRenderer;
import org.jfree.data.xy.XYSeries;
import org.jfree.data.xy.XYSeriesCollection;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Target, FP32 result and mixed-precision result side by side, and the loss curves below. */
final class SineImage {
    private static final int MAP = 300;
    private static final int MARGIN = 30;
    private static final int TITLE = 36;
    private static final int CHART_HEIGHT = 320;
    private static final int WIDTH = 4 * MARGIN + 3 * MAP;
    private static final int CHART_TOP = TITLE + MAP + MARGIN;
    private static final Font TITLE_FONT = new Font(Font.SANS_SERIF, Font.BOLD, 16);
    private static final Color FP32_COLOR = new Color(0x1f77b4);
    private static final Color AMP_COLOR = new Color(0xd62728);
    private static final Stroke SOLID = new BasicStroke(2.5f);
    /** So that both curves are visible where they coincide. */
    private static final Stroke DASHED =
            new BasicStroke(2.5f, BasicStroke.CAP_BUTT, BasicStroke.JOIN_ROUND, 1f, new float[] {8, 8}, 0);

    private final SineGrid grid;
    private final SineTraining.Outcome<SineFigures.Fp32> fp32;
    private final SineTraining.Outcome<SineFigures.Amp> amp;
    private final String ampTitle;

    /** @param ampTitle what was compared with FP32 */
    SineImage(
            SineGrid grid,
            SineTraining.Outcome<SineFigures.Fp32> fp32,
            SineTraining.Outcome<SineFigures.Amp> amp,
            String ampTitle) {
        this.grid = grid;
        this.fp32 = fp32;
        this.amp = amp;
        this.ampTitle = ampTitle;
    }

    /**
     * Returns why Java can't draw text here, or an empty string. It loads fonts from the system, which not each has,
     * and fails with errors of several kinds where there are none.
     */
    static String noText() {
        Graphics2D graphics = new BufferedImage(1, 1, BufferedImage.TYPE_INT_RGB).createGraphics();
        try {
            graphics.getFontMetrics(TITLE_FONT);
            return "";
        } catch (LinkageError | InternalError | RuntimeException missing) {
            return missing.toString();
        } finally {
            graphics.dispose();
        }
    }

    /** Draws the image, as a PNG file has it. */
    byte[] png() throws IOException {
        BufferedImage image =
                new BufferedImage(WIDTH, CHART_TOP + CHART_HEIGHT + MARGIN / 2, BufferedImage.TYPE_INT_RGB);
        Graphics2D graphics = image.createGraphics();
        graphics.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
        graphics.setRenderingHint(RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
        graphics.setColor(Color.WHITE);
        graphics.fillRect(0, 0, image.getWidth(), image.getHeight());
        drawMap(graphics, 0, "Target", grid.target());
        drawMap(graphics, 1, "FP32, loss " + loss(fp32.figures().loss()), fp32.output());
        drawMap(graphics, 2, ampTitle + ", loss " + loss(amp.figures().loss()), amp.output());
        lossChart().draw(graphics, new Rectangle2D.Double(MARGIN, CHART_TOP, WIDTH - 2.0 * MARGIN, CHART_HEIGHT));
        graphics.dispose();
        // Not into the file: ImageIO would delete what is there, links and devices as well, and make a new one.
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        ImageIO.write(image, "png", bytes);
        return bytes.toByteArray();
    }

    private static String loss(double loss) {
        return String.format(Locale.ROOT, "%.4f", loss);
    }

    private static void drawMap(Graphics2D graphics, int column, String title, INDArray points) {
        float[][] values = points.slice(0).slice(0).toFloatMatrix();
        int left = MARGIN + column * (MAP + MARGIN);
        graphics.setColor(Color.BLACK);
        graphics.setFont(TITLE_FONT);
        int titleWidth = graphics.getFontMetrics().stringWidth(title);
        graphics.drawString(title, left + (MAP - titleWidth) / 2, TITLE - 12);
        BufferedImage map = new BufferedImage(values[0].length, values.length, BufferedImage.TYPE_INT_RGB);
        for (int row = 0; row < values.length; row++) {
            for (int x = 0; x < values[row].length; x++) {
                map.setRGB(x, row, ColorScale.rgb(values[row][x]));
            }
        }
        graphics.drawImage(map, left, TITLE, MAP, MAP, null);
        graphics.setColor(Color.GRAY);
        graphics.drawRect(left, TITLE, MAP, MAP);
    }

    private JFreeChart lossChart() {
        XYSeriesCollection curves = new XYSeriesCollection();
        curves.addSeries(curve("FP32", fp32.training().losses()));
        curves.addSeries(curve(ampTitle, amp.training().losses()));
        JFreeChart chart = ChartFactory.createXYLineChart("Loss", "iteration", "mean squared error", curves);
        chart.setBackgroundPaint(Color.WHITE);
        chart.getTitle().setFont(TITLE_FONT);
        XYPlot plot = chart.getXYPlot();
        plot.setBackgroundPaint(Color.WHITE);
        plot.setDomainGridlinePaint(Color.LIGHT_GRAY);
        plot.setRangeGridlinePaint(Color.LIGHT_GRAY);
        plot.setRangeAxis(new LogarithmicAxis("mean squared error"));
        plot.setSeriesRenderingOrder(SeriesRenderingOrder.FORWARD);
        plot.getDomainAxis().setStandardTickUnits(NumberAxis.createIntegerTickUnits());
        XYLineAndShapeRenderer lines = new XYLineAndShapeRenderer(true, false);
        // Otherwise dashes begin anew at each point.
        lines.setDrawSeriesLineAsPath(true);
        lines.setSeriesPaint(0, FP32_COLOR);
        lines.setSeriesPaint(1, AMP_COLOR);
        lines.setSeriesStroke(0, SOLID);
        lines.setSeriesStroke(1, DASHED);
        plot.setRenderer(lines);
        return chart;
    }

    private static XYSeries curve(String name, List<Double> losses) {
        XYSeries series = new XYSeries(name);
        for (int i = 0; i < losses.size(); i++) {
            double loss = losses.get(i);
            // A logarithmic axis has no place for what isn't above zero and finite.
            if (loss > 0 && Double.isFinite(loss)) {
                series.add(i + 1, loss);
            }
        }
        return series;
    }
}
