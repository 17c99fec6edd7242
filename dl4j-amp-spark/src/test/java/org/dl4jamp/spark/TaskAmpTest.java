package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.util.TaskCompletionListenerException;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.checkpoint.AmpState;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import scala.Option;

/** A task's mixed precision ends with the task, even when its report can't be made. */
class TaskAmpTest {
    private final SparkEnv executor = SparkEnv.get();
    private final TaskContextImpl task = TaskContext$.MODULE$.empty();

    @BeforeEach
    void executorShutsDown() {
        SparkEnv.set(null);
    }

    @AfterEach
    void executorIsBack() {
        SparkEnv.set(executor);
    }

    @Test
    void taskThatFailsLeavesItsNetworkAsItWasEvenIfItsReportFails() {
        MultiLayerNetwork network = new MultiLayerNetwork(MixedPrecision.configure(Blobs.network(), Blobs.half()));
        network.init();
        Layer[] own = network.getLayers().clone();
        TaskReports reports = new TaskReports(null, null);
        TaskAmp.begin(network, task, new TrainingSoFar(reports, TaskSettings.OF_THE_NETWORK, null));
        network.fit(Blobs.batches(1, 1).get(0));
        AmpState inTask = MixedPrecision.of(network).orElseThrow().state();
        assertEquals(1, inTask.stepsTaken() + inTask.stepsSkipped());
        assertNotSame(own[0], network.getLayer(0));

        Throwable failure = new IllegalStateException("the task's body");
        task.markTaskFailed(failure);
        TaskCompletionListenerException error = assertThrows(
                TaskCompletionListenerException.class, () -> task.markTaskCompleted(Option.apply(failure)));

        assertTrue(error.getMessage().contains("SparkEnv"), error.getMessage());
        assertTrue(reports.isZero());
        assertTrue(MixedPrecision.of(network).isEmpty());
        assertArrayEquals(own, network.getLayers());
    }
}
