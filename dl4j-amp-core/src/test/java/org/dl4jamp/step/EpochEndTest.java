package org.dl4jamp.step;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.List;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.network.AmpNetwork;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.learning.config.Sgd;

/** The listener that ends a group with its epoch. */
class EpochEndTest {
    private final MultiLayerNetwork network = SmallSteps.network(new Sgd(1));
    private int calls;
    private final OwnListener end = new OwnListener(AmpNetwork.of(network), OwnListener.At.EPOCH_END, () -> calls++);
    private final TrainingListener user = new BaseTrainingListener() {};

    @Test
    void itIsTheFirstListenerAndStandsThereOnce() {
        network.setListeners(user);
        end.putBack();
        end.putBack();
        assertEquals(List.of(end, user), List.copyOf(network.getListeners()));
        network.setListeners(user);
        end.putBack();
        assertEquals(List.of(end, user), List.copyOf(network.getListeners()));
    }

    @Test
    void onlyTheNetworksOwnEpochsCount() {
        end.onEpochEnd(network);
        assertEquals(1, calls);
        end.onEpochEnd(network.clone());
        assertEquals(1, calls, "a replica has the network's listeners");
    }

    @Test
    void afterItsRemovalNothingHappensAndTheOthersStay() {
        network.setListeners(user);
        end.putBack();
        end.remove();
        assertEquals(List.of(user), List.copyOf(network.getListeners()));
        end.onEpochEnd(network);
        assertEquals(0, calls);
        end.remove();
        assertEquals(List.of(user), List.copyOf(network.getListeners()));
    }

    @Test
    void listsOfOthersStayAsTheyAreIfItIsNotAmongThem() {
        network.setListeners(user);
        var listeners = network.getListeners();
        end.remove();
        assertSame(listeners, network.getListeners());
    }
}
