package org.dl4jamp.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.AmpConfigJson;
import org.dl4jamp.config.PartialGroup;
import org.dl4jamp.gradient.GradientGroup.WaitingGroup;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.LossScalerState;
import org.dl4jamp.scale.NoLossScaler;
import org.dl4jamp.scale.Skip;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class AmpStateTest {
    static final AmpState STATE = new AmpState(
            AmpConfig.builder()
                    .precision(Precision.HALF)
                    .keepFull("größe \"1\"")
                    .lower(DenseLayer.class)
                    .lossScaler(DynamicLossScaler.builder().growthFactor(1.7).build())
                    .build(),
            new LossScalerState(DynamicLossScaler.KIND, 0.1f, 17, 1),
            1L << 40,
            12,
            3);

    private static AmpState waiting(Optional<Skip> skip) {
        return new AmpState(
                AmpConfig.builder()
                        .accumulate(5, PartialGroup.CARRY_OVER)
                        .clipGradientNorm(0.1)
                        .clipGradientValue(1e-30)
                        .measureGradientNorm(true)
                        .scaleSearch(7)
                        .layerScales(true)
                        .selfHealing(true)
                        .build(),
                new NoLossScaler().state(),
                3,
                0,
                0,
                14,
                Optional.of(new WaitingGroup(2, 33, Optional.empty(), skip)));
    }

    static Stream<AmpState> states() {
        return Stream.of(
                STATE,
                new AmpState(AmpConfig.defaults(), new NoLossScaler().state(), 0, 0, 0),
                waiting(Optional.empty()),
                waiting(Optional.of(new Skip(Skip.Cause.OVERFLOW, "größe", Optional.of("\"W\"")))),
                waiting(Optional.of(new Skip(Skip.Cause.BATCH, "NaN", Optional.empty()))),
                new AmpState(
                        AmpConfig.builder()
                                .lossScaler(new StaticLossScaler(0.1))
                                .build(),
                        new StaticLossScaler(0.1).state(),
                        Long.MAX_VALUE,
                        Long.MAX_VALUE,
                        Integer.MAX_VALUE));
    }

    @ParameterizedTest
    @MethodSource("states")
    void isReadAsItWasWritten(AmpState state) {
        AmpState read = AmpState.fromJson(state.toJson(), "here");
        assertEquals(AmpConfigJson.text(state.config()), AmpConfigJson.text(read.config()));
        assertEquals(state.scaler(), read.scaler());
        assertEquals(state.stepsTaken(), read.stepsTaken());
        assertEquals(state.stepsSkipped(), read.stepsSkipped());
        assertEquals(state.consecutiveSkips(), read.consecutiveSkips());
        assertEquals(state.iterationsWithoutStep(), read.iterationsWithoutStep());
        assertEquals(state.waiting(), read.waiting());
    }

    @Test
    void aCauseThatIsNoneIsRejected() {
        Skip skip = new Skip(Skip.Cause.LOSS, "infinite", Optional.empty());
        String json = new String(waiting(Optional.of(skip)).toJson(), StandardCharsets.US_ASCII);
        byte[] corrupt = json.replace("\"LOSS\"", "\"LUCK\"").getBytes(StandardCharsets.US_ASCII);
        AmpException e = assertThrows(AmpException.class, () -> AmpState.fromJson(corrupt, "here"));
        assertEquals(
                "here, waiting, skip: cause is \"LUCK\", but has to be one of [BATCH, LOSS, OVERFLOW, UNSCALED]",
                e.getMessage());
    }

    @Test
    void isWrittenInAscii() {
        for (byte character : STATE.toJson()) {
            assertTrue(character > 0);
        }
    }

    @Test
    void aTextThatEndsAnywhereTooEarlyIsRejected() {
        byte[] json = STATE.toJson();
        for (int length = 0; length < json.length; length++) {
            byte[] truncated = Arrays.copyOf(json, length);
            AmpException e =
                    assertThrows(AmpException.class, () -> AmpState.fromJson(truncated, "model.zip, entry amp.json"));
            assertTrue(e.getMessage().startsWith("model.zip, entry amp.json: "), e.getMessage());
        }
    }

    @Test
    void anyChangedByteIsRejectedOrStillReadable() {
        byte[] json = STATE.toJson();
        for (int i = 0; i < json.length; i++) {
            byte[] corrupt = json.clone();
            corrupt[i] ^= 0x15;
            try {
                AmpState.fromJson(corrupt, "here");
            } catch (AmpException e) {
                assertTrue(e.getMessage().startsWith("here"), e.getMessage());
            }
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'{\"formatVersion\":1'            | '{\"formatVersion\":2'            | format version 2, this"
                        + " dl4j-amp reads up to 1: upgrade",
                "'{\"formatVersion\":1'            | '{\"formatVersion\":0'            | formatVersion is 0",
                "'\"formatVersion\":1,\"precision' | '\"formatVersion\":7,\"precision' | 'here, config: format"
                        + " version 7, this dl4j-amp reads up to 1'",
                "'\"stepsTaken\":'                 | '\"stepsLost\":'                  | field \"stepsTaken\" is"
                        + " missing",
                "'\"stepsTaken\":'                 | '\"more\":1,\"stepsTaken\":'      | unknown field \"more\"",
                "'\"stepsTaken\":'                 | '\"stepsSkipped\":'               | Duplicate field",
                "'\"stepsTaken\":1099511627776'    | '\"stepsTaken\":-1'               | 'stepsTaken is -1, but has"
                        + " to be at least 0'",
                "'\"stepsTaken\":1099511627776'    | '\"stepsTaken\":1.5'              | 'stepsTaken is 1.5, but has"
                        + " to be a whole number of 64 bits'",
                "'\"consecutiveSkips\":3'          | '\"consecutiveSkips\":13'         | 'consecutiveSkips is 13, but"
                        + " has to be from 0 to stepsSkipped (12)'",
                "'\"HALF\"'                        | '\"QUARTER\"'                     | 'here, config: precision is"
                        + " \"QUARTER\", but has to be one of'",
                "'\"growthFactor\":1.7'            | '\"growthFactor\":NaN'            | NaN",
                "'\"growthFactor\":1.7'            | '\"growthFactor\":1'              | 'here, config, lossScaler:"
                        + " growthFactor(1.0): a finite number above 1'",
                "'\"kind\":\"FULL\"'               | '\"kind\":\"FOLLOW\"'             | 'here, config, rules[0]:"
                        + " kind is \"FOLLOW\", but has to be LOWER or FULL'",
                "'\"maxConsecutiveSkips\":50'      | '\"maxConsecutiveSkips\":0'       | 'here, config:"
                        + " maxConsecutiveSkips(0)'",
                "'\"maxConsecutiveSkips\":50'      | '\"maxConsecutiveSkips\":5e20'    | maxConsecutiveSkips"
            })
    void saysWhatIsWrong(String original, String replacement, String message) {
        assertRejected(original, replacement, message);
    }

    private static String assertRejected(String original, String replacement, String message) {
        String json = new String(STATE.toJson(), StandardCharsets.US_ASCII);
        assertTrue(json.contains(original), json);
        byte[] corrupt = json.replace(original, replacement).getBytes(StandardCharsets.US_ASCII);
        AmpException e = assertThrows(AmpException.class, () -> AmpState.fromJson(corrupt, "here"));
        assertTrue(e.getMessage().startsWith("here"), e.getMessage());
        assertTrue(e.getMessage().contains(message), e.getMessage());
        return e.getMessage();
    }

    @ParameterizedTest
    @MethodSource("tooLarge")
    void whatIsTooLargeIsRejectedInAShortMessage(String original, String replacement, String message) {
        String shown = assertRejected(original, replacement, message);
        assertTrue(shown.length() < 500, shown);
    }

    static Stream<Arguments> tooLarge() {
        String steps = "\"stepsTaken\":1099511627776";
        String growthFactor = "\"growthFactor\":1.7";
        String rule = "\"gr\\u00F6\\u00DFe \\\"1\\\"\"";
        String name = "n".repeat(1_000_000);
        return Stream.of(
                Arguments.of(steps, "\"stepsTaken\":" + "1".repeat(2_000_000), "more than 1 MB"),
                Arguments.of(steps, "\"stepsTaken\":" + "1".repeat(1_000_000), "a number of more than 40 digits, 1111"),
                Arguments.of(growthFactor, "\"growthFactor\":1." + "7".repeat(1_000_000), "more than 40 digits, 1.777"),
                Arguments.of(steps, "\"stepsTaken\":" + "[".repeat(200_000), "more than 16 objects or arrays"),
                Arguments.of(steps, "\"" + name + "\":1," + steps, "(1000000 characters)"),
                Arguments.of(steps, "\"stepsTaken\":\"" + name + "\"", "(1000002 characters)"),
                Arguments.of(steps, "\"stepsTaken\":" + name, "Unrecognized token"),
                Arguments.of("\"HALF\"", "\"" + name + "\"", "but has to be one of"),
                Arguments.of(rule, "\"" + "(".repeat(200_000) + "\"", "not a regular expression"),
                Arguments.of(rule, "\"" + name + "(\"", "not a regular expression"),
                Arguments.of("\"kind\":\"dynamic\",\"scale\"", "\"kind\":\"" + name + "\",\"scale\"", "at most 80"));
    }

    @Test
    void settingsThatWouldBeTooLargeToReadAreNotWritten() {
        AmpConfig.Builder config = AmpConfig.builder();
        for (int i = 0; i < 1100; i++) {
            config.keepFull("n".repeat(1000) + i);
        }
        AmpState state = new AmpState(config.build(), new NoLossScaler().state(), 0, 0, 0);
        AmpException e = assertThrows(AmpException.class, state::toJson);
        assertTrue(e.getMessage().contains("1048576 is the most"), e.getMessage());
    }

    @Test
    void nothingIsSaidToBeNothing() {
        AmpException e = assertThrows(AmpException.class, () -> AmpState.fromJson(new byte[0], "here"));
        assertEquals("here: a JSON object is needed here, not nothing", e.getMessage());
    }

    @Test
    void whatFollowsTheStateIsRejected() {
        byte[] json =
                (new String(STATE.toJson(), StandardCharsets.US_ASCII) + "{}").getBytes(StandardCharsets.US_ASCII);
        assertThrows(AmpException.class, () -> AmpState.fromJson(json, "here"));
    }
}
