package org.dl4jamp.inspect.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.dl4jamp.inspect.report.LayerTimeline.Cell;
import org.dl4jamp.inspect.report.LayerTimeline.Column;
import org.dl4jamp.inspect.report.LayerTimeline.Share;
import org.dl4jamp.listeners.LayerStatisticsListener.Layer;
import org.dl4jamp.listeners.NumberStatistics;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;

class LayerTimelineTest {
    private static Layer layer(String name, double zero, double near) {
        return new Layer(
                name, Optional.empty(), Optional.of(new NumberStatistics(DataType.HALF, 8, zero, 0.125, near, 0, 2)));
    }

    private static LayerTimeline looks(int count) {
        LayerTimeline timeline = new LayerTimeline();
        for (int i = 0; i < count; i++) {
            List<Layer> layers = i % 2 == 0
                    ? List.of(layer("first", 0.25, i == 500 ? 0.5 : 0), layer("second", 0, 0))
                    : List.of(layer("first", 0.5, 0));
            double scale = i + 1;
            timeline.add(
                    10 * i, layers, name -> name.equals("first") ? OptionalDouble.of(scale) : OptionalDouble.empty());
        }
        return timeline;
    }

    @Test
    void manyLooksAreThinned() {
        List<Column> columns = looks(1001).columns();
        assertTrue(columns.size() <= LayerTimeline.MOST && columns.size() > LayerTimeline.MOST / 2);
        assertEquals(1001, columns.stream().mapToLong(Column::looks).sum());
        assertEquals(0, columns.get(0).first());
        assertEquals(10_000, columns.get(columns.size() - 1).last());
        Cell cell = columns.get(0).cells().get("first");
        assertEquals(0.375 + 0.125, cell.underflow().mean(), 1e-6, "the mean of both");
        assertEquals(
                columns.get(0).looks() / 2,
                columns.get(0).cells().get("second").underflow().looks());
        Column with500 = columns.stream()
                .filter(column -> column.first() <= 5000 && column.last() >= 5000)
                .findFirst()
                .orElseThrow();
        assertEquals(0.5, with500.cells().get("first").gradientNear().most(), 1e-6, "the largest stays");
    }

    @Test
    void aLayersOwnScaleIsShownWithItsRange() {
        LayerTable table = LayerTable.of(looks(6));
        assertTrue(table.scaled());
        assertEquals("first", table.rows().get(0).layer());
        assertEquals("6 (1 to 6)", table.rows().get(0).scale());
        assertEquals("50", table.iteration());
    }

    @Test
    void aMapHasTheLevelsOfItsColumns() {
        HeatMap map = HeatMap.of(looks(4).columns(), Cell::underflow, Share::mean);
        assertEquals(4, map.columns());
        HeatMap.Row first = map.rows().get(0);
        assertEquals(
                List.of(new HeatMap.Path(6, "M0 0h1v1H0zM2 0h1v1H2z"), new HeatMap.Path(7, "M1 0h1v1H1zM3 0h1v1H3z")),
                first.paths());
        assertEquals("62.5 %", first.last());
        HeatMap.Row second = map.rows().get(1);
        assertEquals("M1 0h1v1H1zM3 0h1v1H3z", second.unseen());
        assertEquals("12.5 %", second.last(), "of the last look that saw it");
    }

    @Test
    void aMapWithoutAnyShareIsBlank() {
        assertTrue(HeatMap.of(looks(4).columns(), Cell::gradientNear, share -> (double) share.most())
                .blank());
    }
}
