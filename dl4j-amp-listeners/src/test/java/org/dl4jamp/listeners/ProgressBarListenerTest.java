package org.dl4jamp.listeners;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import me.tongfei.progressbar.DelegatingProgressBarConsumer;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

class ProgressBarListenerTest {
    @Test
    void theMessageHasLossScaleAndSkips() {
        assertEquals("loss 0.5000, scale 32768.0, 3 skipped", ProgressBarListener.message(LinesTest.FIGURES));
        assertEquals("loss 0.5000", ProgressBarListener.message(LinesTest.WITHOUT));
    }

    @Test
    void eachEpochHasABarAndTheSecondOneKnowsItsLength() {
        List<String> lines = new CopyOnWriteArrayList<>();
        MultiLayerNetwork network = SmallNetwork.of(new Sgd(0.1));
        network.setListeners(new ProgressBarListener(2, -1, new DelegatingProgressBarConsumer(lines::add, 200)));
        DataSet batch = new DataSet(Nd4j.zeros(DataType.FLOAT, 2, 4), Nd4j.eye(2));
        network.fit(new ExistingDataSetIterator(List.of(batch, batch, batch, batch)), 2);
        String last = lines.get(lines.size() - 1);
        assertTrue(lines.stream().anyMatch(line -> line.startsWith("Epoch 0")), lines::toString);
        assertTrue(last.startsWith("Epoch 1"), last);
        assertTrue(last.contains("4/4"), last);
        assertTrue(last.contains(String.format(Locale.ROOT, "loss %.4g", network.score())), last);
    }
}
