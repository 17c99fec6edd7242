package org.dl4jamp.ui.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.dl4jamp.listeners.NumberStatistics;
import org.dl4jamp.listeners.SkipReport;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.Skip;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;

/** Each record comes back from its encoding as it was. */
class StoredRecordTest {
    private static final NumberStatistics NUMBERS =
            new NumberStatistics(DataType.HALF, 4096, 0.25, 1e-4, 0, Double.MIN_VALUE, 65504);
    private static final SkipReport.Range RANGE = new SkipReport.Range("dense\u00e9", "gradient of W", 3e4, 7, 512);

    private static final PlanContent PLAN = new PlanContent(
            "MultiLayerNetwork, 3 parameters",
            "nd4j",
            "new StaticLossScaler(8)",
            true,
            new PrecisionPlan(
                    Precision.HALF,
                    "",
                    List.of(new PrecisionPlan.Row(
                            "a",
                            "DenseLayer",
                            true,
                            LayerKind.LOWER,
                            Precision.HALF,
                            Precision.FLOAT,
                            Precision.HALF,
                            "nd4j",
                            "why"))));

    private static final StepContent STEP = new StepContent(
            7,
            1,
            Double.NaN,
            Double.POSITIVE_INFINITY,
            1L << 40,
            3,
            List.of(
                    new StepContent.Layer("a", Optional.of(NUMBERS), Optional.empty(), OptionalDouble.empty()),
                    new StepContent.Layer("b", Optional.empty(), Optional.of(NUMBERS), OptionalDouble.of(0x1p-20))));

    private static final SkipContent SKIP = new SkipContent(new SkipReport(
            9,
            new Skip(Skip.Cause.OVERFLOW, "gradients aren't finite", Optional.of("0_W")),
            65536,
            Optional.of(RANGE),
            List.of(RANGE, RANGE),
            List.of()));

    private static StoredRecord record(Content content) {
        return new StoredRecord("session", "worker", 1234567890123L, content);
    }

    private static void assertSame(StoredRecord expected, StoredRecord actual) {
        assertEquals("session", actual.getSessionID());
        assertEquals("worker", actual.getWorkerID());
        assertEquals(1234567890123L, actual.getTimeStamp());
        assertEquals(expected.kind(), actual.kind());
        assertEquals(expected.content(), actual.content());
    }

    @Test
    void everyKindOfContentComesBackFromEachEncoding() throws Exception {
        for (Content content : List.of(PLAN, STEP, SKIP)) {
            StoredRecord record = record(content);
            assertEquals(content, record.content());

            StoredRecord fromBytes = new StoredRecord();
            fromBytes.decode(record.encode());
            assertSame(record, fromBytes);

            ByteBuffer buffer = ByteBuffer.allocate(record.encodingLengthBytes());
            record.encode(buffer);
            buffer.flip();
            StoredRecord fromBuffer = new StoredRecord();
            fromBuffer.decode(buffer);
            assertSame(record, fromBuffer);

            ByteArrayOutputStream serialized = new ByteArrayOutputStream();
            try (ObjectOutputStream out = new ObjectOutputStream(serialized)) {
                out.writeObject(record);
            }
            try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(serialized.toByteArray()))) {
                assertSame(record, (StoredRecord) in.readObject());
            }
        }
    }

    @Test
    void aRecordThatIsCutOffIsRefusedWhereverThatIs() {
        for (Content content : List.of(PLAN, STEP, SKIP)) {
            byte[] whole = record(content).encode();
            for (int length = 0; length < whole.length; length++) {
                byte[] cut = Arrays.copyOf(whole, length);
                assertThrows(UncheckedIOException.class, () -> new StoredRecord().decode(cut));
            }
        }
    }

    @Test
    void aRecordOfAnotherVersionNamesBoth() {
        byte[] other = record(STEP).encode();
        other[0] = 9;
        IOException error =
                assertThrows(IOException.class, () -> new StoredRecord().decode(new ByteArrayInputStream(other)));
        assertTrue(
                error.getMessage().contains("version 9") && error.getMessage().contains("version 1"));
    }

    /** Its length is written as two thousand million bytes, which must not be taken from the heap. */
    @Test
    void aLengthBeyondTheEndIsRefusedBeforeMemoryIsTaken() {
        byte[] bytes = record(STEP).encode();
        ByteBuffer.wrap(bytes).putInt(1, Integer.MAX_VALUE);
        UncheckedIOException error = assertThrows(UncheckedIOException.class, () -> new StoredRecord().decode(bytes));
        assertTrue(error.getMessage().contains("2147483647"), error.getMessage());
    }
}
