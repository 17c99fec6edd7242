package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Limits of each module's main sources. It is compiled and run in all modules, as {@link ModuleTest} is. */
class SourcesTest {
    private static final int LINES = 300;
    private static final int COLUMNS = 120;
    private static final int WORDS = 30;
    private static final Pattern JAVADOC = Pattern.compile("/\\*\\*(.*?)\\*/", Pattern.DOTALL);
    /** Code, lists and tags end a sentence, as a full stop does. */
    private static final Pattern BREAKS = Pattern.compile(
            "<pre>.*?</pre>|</?[a-z]+>|@(?:param|return|throws|see)\\b|(?<=[.!?:;])\\s+(?=[A-Z{<(])", Pattern.DOTALL);

    private static final Pattern OPENING =
            Pattern.compile("/\\*\\*\\s*(?:\\n\\s*\\* )?(?:What|How|Whether|Whom|Who)\\b[^\\n]*");

    /** Returns the text of each source file. Surefire starts tests in the folder of their module. */
    private static Map<Path, String> sources() {
        Map<Path, String> sources = new TreeMap<>();
        try (Stream<Path> files = Files.walk(Path.of("src", "main", "java"))) {
            for (Path file :
                    files.filter(path -> path.toString().endsWith(".java")).toList()) {
                sources.put(file, Files.readString(file));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        assertFalse(sources.isEmpty());
        return sources;
    }

    @Test
    void noFileHasMoreThanThreeHundredLines() {
        Map<Path, Long> lines = new TreeMap<>();
        sources().forEach((file, text) -> lines.put(file, text.lines().count()));
        lines.values().removeIf(count -> count <= LINES);
        assertEquals(Map.of(), lines);
    }

    /** The formatter wraps code and Javadoc, but neither strings nor comments. An import can't be wrapped. */
    @Test
    void noLineHasMoreThan120Columns() {
        List<String> wide = new ArrayList<>();
        sources().forEach((file, text) -> text.lines()
                .filter(line -> line.length() > COLUMNS && !line.startsWith("import "))
                .forEach(line -> wide.add(file + ": " + line)));
        assertEquals(List.of(), wide);
    }

    @Test
    void javadocOpensWithAVerbOrWithWhatSomethingIs() {
        List<String> openings = new ArrayList<>();
        sources().forEach((file, text) -> {
            Matcher matcher = OPENING.matcher(text);
            while (matcher.find()) {
                openings.add(file + ": " + matcher.group());
            }
        });
        assertEquals(List.of(), openings);
    }

    @Test
    void noSentenceOfJavadocHasMoreThanThirtyWords() {
        List<String> sentences = new ArrayList<>();
        sources().forEach((file, text) -> JAVADOC.matcher(text)
                .results()
                .map(javadoc -> javadoc.group(1).replaceAll("\\n\\s*\\*", " \n"))
                .flatMap(BREAKS::splitAsStream)
                .map(sentence -> sentence.replaceAll("\\{@code [^}]*}", "code").replaceAll("\\{@\\w+ ([^}]*)}", "$1"))
                .filter(sentence -> words(sentence) > WORDS)
                .forEach(sentence -> sentences.add(file + ": " + sentence)));
        assertEquals(List.of(), sentences);
    }

    private static long words(String sentence) {
        return Stream.of(sentence.split("\\s+"))
                .filter(word -> word.matches(".*\\w.*"))
                .count();
    }
}
