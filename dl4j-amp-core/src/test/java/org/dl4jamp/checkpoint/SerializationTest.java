package org.dl4jamp.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.AmpConfigJson;
import org.dl4jamp.gradient.GradientGroup.WaitingGroup;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.LossScalerState;
import org.dl4jamp.scale.SharedLossScale;
import org.dl4jamp.scale.Skip;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Java's serialization of settings and state, which clusters send from machine to machine. */
class SerializationTest {
    private static final AmpConfig ALL = AmpConfig.builder()
            .precision(Precision.HALF)
            .optLevel(OptLevel.O2)
            .engine("nd4j")
            .keepFull("bn_.*")
            .keepFull(BatchNormalization.class)
            .lower(DenseLayer.class)
            .lossScaler(DynamicLossScaler.builder()
                    .initialScale(1024)
                    .growthInterval(7)
                    .build())
            .accumulate(2)
            .clipGradientNorm(0.5)
            .measureGradientNorm(true)
            .scaleSearch(7)
            .layerScales(true)
            .selfHealing(true)
            .maxConsecutiveSkips(3)
            .build();

    @Test
    void settingsArriveAsTheyWere() throws Exception {
        AmpConfig arrived = (AmpConfig) sent(ALL);
        assertEquals(ALL.toString(), arrived.toString());
        assertEquals(AmpConfigJson.text(ALL), AmpConfigJson.text(arrived));
        assertEquals(AmpConfig.defaults().toString(), sent(AmpConfig.defaults()).toString());
    }

    @Test
    void stateArrivesAsItWas() throws Exception {
        AmpState state = new AmpState(ALL, new LossScalerState(DynamicLossScaler.KIND, 512, 5, 1), 70, 8, 2);
        AmpState arrived = (AmpState) sent(state);
        assertEquals(state.scaler(), arrived.scaler());
        assertEquals(70, arrived.stepsTaken());
        assertEquals(8, arrived.stepsSkipped());
        assertEquals(2, arrived.consecutiveSkips());
        assertEquals(ALL.toString(), arrived.config().toString());
    }

    @Test
    void gradientsThatWaitArriveAsTheyWere() throws Exception {
        INDArray sums = Nd4j.createFromArray(1.5f, -0.25f, 1e-30f);
        AmpState arrived = (AmpState) sent(waiting(Optional.of(sums), Optional.empty()));
        assertEquals(14, arrived.iterationsWithoutStep());
        WaitingGroup waiting = arrived.waiting().orElseThrow();
        assertEquals(2, waiting.microBatches());
        assertEquals(33, waiting.examples());
        assertEquals(sums, waiting.sums().orElseThrow());
        assertEquals(Optional.empty(), waiting.skip());
    }

    @Test
    void aGroupThatWillBeLeftOutArrivesWithItsReason() throws Exception {
        for (Optional<String> first : List.of(Optional.of("0_W"), Optional.<String>empty())) {
            var skip = Optional.of(new Skip(Skip.Cause.OVERFLOW, "gradients overflowed", first));
            AmpState state = waiting(Optional.empty(), skip);
            assertEquals(state.waiting(), ((AmpState) sent(state)).waiting());
        }
    }

    private static AmpState waiting(Optional<INDArray> sums, Optional<Skip> skip) {
        AmpConfig config = AmpConfig.builder().accumulate(5).build();
        LossScalerState scaler = new LossScalerState(DynamicLossScaler.KIND, 512, 5, 1);
        return new AmpState(config, scaler, 3, 0, 0, 14, Optional.of(new WaitingGroup(2, 33, sums, skip)));
    }

    @Test
    void sharedScalerArrivesAsOneOfItsOwn() throws Exception {
        AmpConfig shared = AmpConfig.builder()
                .sharedLossScale(new SharedLossScale(
                        DynamicLossScaler.builder().initialScale(64).build()))
                .build();
        AmpConfig arrived = (AmpConfig) sent(shared);
        assertFalse(arrived.isLossScalerShared());
        assertEquals(64, arrived.lossScaler().orElseThrow().scale());
    }

    @Test
    void whatIsCodeIsRefusedByName() {
        AmpException predicate = assertThrows(
                AmpException.class,
                () -> sent(AmpConfig.builder().keepFull(layer -> true).build()));
        assertTrue(predicate.getMessage().contains("keepFull(predicate)"), predicate.getMessage());
        AmpException scaler = assertThrows(
                AmpException.class,
                () -> sent(
                        AmpConfig.builder().lossScaler(new UserWrittenScaler()).build()));
        assertTrue(scaler.getMessage().contains(UserWrittenScaler.class.getName()), scaler.getMessage());
    }

    private static Object sent(Object value) throws IOException, ClassNotFoundException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(value);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            return in.readObject();
        }
    }
}
