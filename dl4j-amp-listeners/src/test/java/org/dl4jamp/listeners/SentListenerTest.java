package org.dl4jamp.listeners;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Networks;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.adapter.SingletonDataSetIterator;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

/** An {@link AmpListener} that Java's serialization has taken elsewhere. */
class SentListenerTest {
    private static final AmpConfig HALF =
            AmpConfig.builder().precision(Precision.HALF).engine("nd4j").build();

    @Test
    void settingsArriveAndTheCopyServesANetworkOfItsOwn() throws Exception {
        AmpListener listener = new AmpListener(HALF);
        train(listener);
        AmpListener arrived = sent(listener);
        assertTrue(arrived.mixedPrecision().isEmpty());
        train(arrived);
        assertEquals(
                HALF.toString(), arrived.mixedPrecision().orElseThrow().config().toString());
        assertEquals(1, arrived.mixedPrecision().orElseThrow().stepsTaken());
        assertEquals(1, listener.mixedPrecision().orElseThrow().stepsTaken());
    }

    @Test
    void listenerWithoutSettingsTakesThoseOfTheNetwork() throws Exception {
        AmpListener arrived = sent(new AmpListener());
        train(arrived);
        assertEquals(1, arrived.mixedPrecision().orElseThrow().stepsTaken());
    }

    @Test
    void settingsThatAreCodeAreRefused() {
        AmpListener listener =
                new AmpListener(AmpConfig.builder().keepFull(layer -> true).build());
        AmpException error = assertThrows(AmpException.class, () -> sent(listener));
        assertTrue(error.getMessage().contains("predicate"), error.getMessage());
    }

    private static void train(AmpListener listener) {
        MultiLayerNetwork network = new MultiLayerNetwork(new NeuralNetConfiguration.Builder()
                .updater(new Sgd(0.1))
                .list()
                .layer(new DenseLayer.Builder().nIn(4).nOut(8).build())
                .layer(new OutputLayer.Builder().nIn(8).nOut(2).build())
                .build());
        network.init();
        network.setListeners(listener);
        network.fit(new SingletonDataSetIterator(
                new DataSet(Networks.uniform(1, 6, 4), Nd4j.ones(6, 2).div(2))));
    }

    private static AmpListener sent(AmpListener listener) throws IOException, ClassNotFoundException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(listener);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            return (AmpListener) in.readObject();
        }
    }
}
