package org.dl4jamp.inspect.speed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.inspect.speed.Task.Size;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;

/** With networks so small, and for so short a time, that the figures say nothing of the machine. */
class SpeedTestTest {
    private final List<String> progress = new ArrayList<>();

    private static Workload tiny(Workload workload) {
        return new Workload(workload.key(), workload.kind(), workload.weight(), workload.tiny(), workload.tiny());
    }

    private static List<Workload> tiny() {
        return Workloads.all().stream().map(SpeedTestTest::tiny).toList();
    }

    /** In as little time as there is, sides may be left out, which depends on the machine. */
    @Test
    void figuresOfEachKindOfNetworkFitTogether() throws Exception {
        SpeedReport speed = SpeedTest.run(tiny(), 1.5, progress::add);
        assertEquals(List.of("measuring dense layers", "measuring LSTM layers", "measuring convolutions"), progress);
        assertEquals(
                List.of("dense", "lstm", "convolutions"),
                speed.networks().stream().map(WorkloadSpeed::key).toList());
        for (WorkloadSpeed network : speed.networks()) {
            assertTrue(network.stock().millis() > 0 && network.stock().steps() > 0, network.toString());
            assertEquals(Side.here().size(), network.sides().size());
            for (SideSpeed side : network.sides()) {
                if (side.unmeasured() == null) {
                    assertTrue(side.steps() > 0, network.toString());
                    assertEquals(network.stock().millis() / side.millis(), side.timesFaster(), 1e-9);
                } else {
                    assertEquals("the time was over", side.unmeasured());
                }
            }
        }
        assertTrue(speed.memoryGigabytesPerSecond() > 0.1, speed.toString());
        JsonNode json = new ObjectMapper().valueToTree(speed);
        assertEquals(
                speed.networks().get(2).stock().millis(),
                json.at("/networks/2/stock/millis").asDouble(),
                1e-9);
        assertEquals(
                speed.networks().get(0).description(),
                json.at("/networks/0/description").asText());
    }

    @Test
    void whatNoEngineComputesHereIsLeftOut() {
        assertEquals(List.of(Precision.HALF), Side.halves(List.of(without(Precision.BFLOAT16))));
        assertEquals(
                List.of(Precision.BFLOAT16, Precision.HALF),
                Side.halves(List.of(without(Precision.BFLOAT16), without(Precision.HALF))));
        assertEquals(List.of(), Side.halves(List.of()));
    }

    /** As the portable engine is on a GPU whose BFLOAT16 is wrong. */
    private static ComputeEngine without(Precision precision) {
        return (ComputeEngine) Proxy.newProxyInstance(
                ComputeEngine.class.getClassLoader(),
                new Class<?>[] {ComputeEngine.class},
                (engine, method, arguments) ->
                        arguments[0] == precision ? Optional.of("it computes wrongly") : Optional.empty());
    }

    @Test
    void eachKindOfNetworkTrainsOnEachSideWithEachSize() {
        List<Side> sides = new ArrayList<>(Side.here());
        assertEquals(
                List.of(Precision.BFLOAT16, Precision.HALF),
                sides.stream().map(Side::precision).toList());
        sides.add(Side.STOCK);
        for (Task task : List.of(
                Workloads.dense(8, 16, 4, 4, 2), Workloads.convolutions(8, 8, 4), Workloads.lstm(8, 8, 4, 4, 2))) {
            for (Side side : sides) {
                try (TrainedNetwork network = new TrainedNetwork(task, side)) {
                    task.sizes().forEach(network::step);
                    assertEquals(2, network.steps(), task + " " + side);
                }
            }
        }
    }

    @Test
    void smallerSizesHaveLessWork() {
        for (Workload workload : Workloads.all()) {
            List<Double> work =
                    workload.measured().sizes().stream().map(Size::work).toList();
            assertEquals(3, work.size(), workload.key());
            assertTrue(work.get(0) > work.get(1) && work.get(1) > work.get(2) && work.get(2) > 0, workload.key());
        }
    }

    @Test
    void bandwidthIsWhatACopyTakes() {
        double small = MemoryBandwidth.measure(1 << 20);
        assertTrue(small > 0.1 && small < 10_000, "GB/s " + small);
    }
}
