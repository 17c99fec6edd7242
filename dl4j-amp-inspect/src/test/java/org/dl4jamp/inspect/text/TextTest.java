package org.dl4jamp.inspect.text;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TextTest {
    @ParameterizedTest
    @CsvSource({
        "0, 0 B",
        "1023, 1023 B",
        "1536, 1.5 KiB",
        "25276514304, 23.5 GiB",
        "1099511627776, 1.0 TiB",
    })
    void sizesHaveOneDecimal(long bytes, String text) {
        assertEquals(text, Bytes.text(bytes));
    }

    @Test
    void longTextIsWrappedBelowItself() {
        String text = "word ".repeat(40).strip();
        List<String> lines = Paragraphs.wrapped("  label ", text).lines().toList();
        assertEquals(3, lines.size());
        assertTrue(lines.stream().allMatch(line -> line.length() <= Paragraphs.WIDTH), lines.toString());
        assertTrue(lines.get(0).startsWith("  label word"), lines.toString());
        assertTrue(lines.get(1).startsWith("        word"), lines.toString());
        assertEquals(
                text,
                String.join(" ", lines)
                        .replaceAll(" +", " ")
                        .replace(" label ", "")
                        .strip());
    }

    @Test
    void aWordThatIsTooLongStaysWhole() {
        assertEquals("- " + "x".repeat(200), Paragraphs.wrapped("- ", "x".repeat(200)));
    }
}
