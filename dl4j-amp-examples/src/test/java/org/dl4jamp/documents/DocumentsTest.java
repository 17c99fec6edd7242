package org.dl4jamp.documents;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.dl4jamp.examples.AmpCommand;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** The README and the pages in docs: links, line lengths, sentences, and the commands that they name. */
class DocumentsTest {
    private static final int COLUMNS = 120;
    private static final int README_LINES = 150;
    private static final int WORDS = 30;
    /** Commands of the launcher that are in modules of their own. */
    private static final Set<String> BUILT_BY_PROFILES = Set.of("bench", "spark");

    @Test
    void relativeLinksAndTheirAnchorsResolve() throws IOException {
        List<String> broken = new ArrayList<>();
        int links = 0;
        for (Page page : Page.all()) {
            for (Page.Line link : page.links()) {
                if (link.text().startsWith("https://")) {
                    continue;
                }
                links++;
                String[] parts = link.text().split("#", 2);
                Path target = parts[0].isEmpty()
                        ? page.path()
                        : page.path().resolveSibling(parts[0]).normalize();
                boolean resolves = Files.exists(target)
                        && (parts.length == 1 || Page.read(target).anchors().contains(parts[1]));
                if (!resolves) {
                    broken.add(page.at(link.number()) + ": " + link.text());
                }
            }
        }
        assertEquals(List.of(), broken);
        assertTrue(links > 50, "found no more than " + links + " links");
    }

    @Test
    void proseIsWithin120Columns() throws IOException {
        List<String> tooLong = new ArrayList<>();
        for (Page page : Page.all()) {
            for (Page.Line line : page.isGenerated() ? List.<Page.Line>of() : page.prose()) {
                if (line.text().length() > COLUMNS) {
                    tooLong.add(page.at(line.number()) + ": " + line.text().length() + " columns");
                }
            }
        }
        assertEquals(List.of(), tooLong);
    }

    /** Text after a colon counts as a sentence of its own, and code as one word. */
    @Test
    void sentencesHaveAtMost30Words() throws IOException {
        List<String> tooLong = new ArrayList<>();
        for (Page page : Page.all()) {
            for (Page.Line paragraph : page.isGenerated() ? List.<Page.Line>of() : paragraphs(page)) {
                String text = paragraph.text().replaceAll("`[^`]*`", "code").replaceAll("\\]\\([^)]*\\)", "]");
                for (String sentence : text.split("(?<=[.:?!])\\**\\s+", -1)) {
                    int words = sentence.split("\\s+", -1).length;
                    if (words > WORDS) {
                        tooLong.add(page.at(paragraph.number()) + ": " + words + " words: " + sentence);
                    }
                }
            }
        }
        assertEquals(List.of(), tooLong);
    }

    @Test
    void readmeIsWithin150LinesOf120Columns() throws IOException {
        List<String> lines = Files.readAllLines(Page.ROOT.resolve("README.md"));
        assertTrue(lines.size() <= README_LINES, "README.md has " + lines.size() + " lines");
        assertEquals(
                List.of(),
                lines.stream().filter(line -> line.length() > COLUMNS).toList());
    }

    /** Maven commands select tests by their names, and would select none if one was renamed. */
    @Test
    void testsNamedInCommandsExist() throws IOException {
        Set<String> sources = sources();
        Pattern selected = Pattern.compile("-Dtest='?([A-Za-z0-9*]+)");
        List<String> missing = new ArrayList<>();
        int found = 0;
        for (Page page : Page.all()) {
            for (Page.Line command : page.commands()) {
                for (var test : selected.matcher(command.text()).results().toList()) {
                    String file = test.group(1).replace("*", ".*") + "\\.java";
                    found++;
                    if (sources.stream().noneMatch(name -> name.matches(file))) {
                        missing.add(page.at(command.number()) + ": " + test.group(1));
                    }
                }
            }
        }
        assertEquals(List.of(), missing);
        assertTrue(found > 5, "found no more than " + found + " commands");
    }

    @Test
    void commandsOfTheLauncherAndTheirOptionsExist() throws IOException {
        List<String> unknown = new ArrayList<>();
        int found = 0;
        for (Page page : Page.all()) {
            for (Page.Line command : page.commands()) {
                String[] words = command.text().replaceFirst(".*\\./amp ", "").split("\\s+", -1);
                if (command.text().contains("./amp ") && words[0].matches("[a-z]+")) {
                    found++;
                    unknownWord(words).ifPresent(word -> unknown.add(page.at(command.number()) + ": " + word));
                }
            }
        }
        assertEquals(List.of(), unknown);
        assertTrue(found > 10, "found no more than " + found + " commands");
    }

    @Test
    void scriptsNamedInDocumentsExist() throws IOException {
        Pattern script = Pattern.compile("\\.ci/[a-z-]+");
        List<String> missing = new ArrayList<>();
        for (Page page : Page.all()) {
            for (Page.Line command : page.commands()) {
                script.matcher(command.text())
                        .results()
                        .filter(name -> Files.notExists(Page.ROOT.resolve(name.group())))
                        .forEach(name -> missing.add(page.at(command.number()) + ": " + name.group()));
            }
        }
        assertEquals(List.of(), missing);
    }

    /** The names of all Java files of all modules. */
    private static Set<String> sources() throws IOException {
        Set<String> sources = new HashSet<>();
        try (DirectoryStream<Path> modules = Files.newDirectoryStream(Page.ROOT, "dl4j-amp-*")) {
            for (Path module : modules) {
                Path folder = module.resolve("src");
                if (Files.exists(folder)) {
                    try (Stream<Path> files = Files.walk(folder)) {
                        files.map(file -> file.getFileName().toString())
                                .filter(name -> name.endsWith(".java"))
                                .forEach(sources::add);
                    }
                }
            }
        }
        return sources;
    }

    private static Optional<String> unknownWord(String[] words) {
        if (BUILT_BY_PROFILES.contains(words[0])) {
            return Optional.empty();
        }
        CommandLine command = AmpCommand.commandLine().getSubcommands().get(words[0]);
        if (command == null) {
            return Optional.of(words[0]);
        }
        return Stream.of(words)
                .filter(word -> word.startsWith("--"))
                .filter(word -> !command.getCommandSpec().optionsMap().containsKey(word))
                .findFirst();
    }

    /** Paragraphs and items of lists, each joined into one line. */
    private static List<Page.Line> paragraphs(Page page) {
        List<Page.Line> paragraphs = new ArrayList<>();
        int previous = -1;
        for (Page.Line line : page.prose()) {
            boolean item = line.text().matches("\\s*([-*]|\\d+\\.) .*");
            String text = line.text().strip().replaceFirst("^([-*]|\\d+\\.) ", "");
            if (text.isEmpty()) {
                continue;
            }
            if (!item && line.number() == previous + 1) {
                Page.Line last = paragraphs.remove(paragraphs.size() - 1);
                paragraphs.add(new Page.Line(last.number(), last.text() + " " + text));
            } else {
                paragraphs.add(new Page.Line(line.number(), text));
            }
            previous = line.number();
        }
        return paragraphs;
    }
}
