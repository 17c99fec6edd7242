package org.dl4jamp.documents;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A Markdown page of this repository, split into prose and code blocks.
 *
 * @param path of the file
 * @param lines all lines
 * @param prose lines outside of code blocks, tables, headings and generated sections
 * @param blocks the code blocks
 */
record Page(Path path, List<String> lines, List<Line> prose, List<Block> blocks) {
    /** The root of the repository; tests run in the folder of their module. */
    static final Path ROOT = Path.of("").toAbsolutePath().getParent();

    private static final Pattern LINK = Pattern.compile("\\[[^\\]]*\\]\\(([^)\\s]+)\\)");
    private static final Pattern CODE = Pattern.compile("`[^`]*`");
    /** Sections between two such marks are written by a command. */
    private static final Pattern MARK = Pattern.compile("<!-- .*: (begin|end) -->");

    /**
     * A line of a page.
     *
     * @param number from 1 on
     */
    record Line(int number, String text) {}

    /**
     * A code block.
     *
     * @param line number of its first line
     * @param language after the three backticks; empty for a command
     */
    record Block(int line, String language, String code) {}

    /** The README, the changelog and all pages in docs. */
    static List<Page> all() throws IOException {
        List<Path> files = new ArrayList<>(List.of(ROOT.resolve("README.md"), ROOT.resolve("CHANGELOG.md")));
        try (Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
            docs.filter(file -> file.toString().endsWith(".md")).sorted().forEach(files::add);
        }
        List<Page> pages = new ArrayList<>();
        for (Path file : files) {
            pages.add(read(file));
        }
        return pages;
    }

    /** Reads a page. */
    static Page read(Path file) throws IOException {
        List<String> lines = Files.readAllLines(file);
        List<Line> prose = new ArrayList<>();
        List<Block> blocks = new ArrayList<>();
        boolean generated = false;
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i);
            if (line.startsWith("```")) {
                int first = i + 1;
                StringBuilder code = new StringBuilder();
                for (i++; !lines.get(i).startsWith("```"); i++) {
                    code.append(lines.get(i)).append('\n');
                }
                blocks.add(new Block(first + 1, line.substring(3), code.toString()));
            } else if (MARK.matcher(line).matches()) {
                generated = line.contains(": begin -->");
            } else if (!generated && !line.startsWith("|") && !line.startsWith("#")) {
                prose.add(new Line(i + 1, line));
            }
        }
        return new Page(file, lines, List.copyOf(prose), List.copyOf(blocks));
    }

    /** Returns whether a program writes the whole page. */
    boolean isGenerated() {
        return lines.stream().anyMatch(line -> line.startsWith("This page is written by `mvn "));
    }

    /** Returns the name within the repository, with a line number. */
    String at(int line) {
        return ROOT.relativize(path) + ":" + line;
    }

    /** Returns the targets of all links, outside of code. */
    List<Line> links() {
        List<Line> links = new ArrayList<>();
        for (Line line : outsideOfBlocks()) {
            Matcher link = LINK.matcher(CODE.matcher(line.text()).replaceAll("code"));
            while (link.find()) {
                links.add(new Line(line.number(), link.group(1)));
            }
        }
        return links;
    }

    /** Returns the anchors that GitHub gives to the headings. */
    Set<String> anchors() {
        Set<String> anchors = new HashSet<>();
        Map<String, Integer> seen = new HashMap<>();
        for (Line line : outsideOfBlocks()) {
            if (line.text().matches("#{1,6} .*")) {
                String anchor = line.text()
                        .replaceFirst("#+ ", "")
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("[^\\p{L}\\p{N} _-]", "")
                        .replace(' ', '-');
                int times = seen.merge(anchor, 1, Integer::sum);
                anchors.add(times == 1 ? anchor : anchor + "-" + (times - 1));
            }
        }
        return anchors;
    }

    /** Returns the code between backticks, on lines or in blocks without a language. */
    List<Line> commands() {
        List<Line> commands = new ArrayList<>();
        for (Line line : outsideOfBlocks()) {
            CODE.matcher(line.text())
                    .results()
                    .forEach(code -> commands.add(new Line(
                            line.number(),
                            code.group().substring(1, code.group().length() - 1))));
        }
        for (Block block : blocks) {
            if (block.language().isEmpty()) {
                String joined = block.code().replaceAll("\\\\\n\\s*", "");
                joined.lines().forEach(line -> commands.add(new Line(block.line(), line.replaceFirst(" +#.*", ""))));
            }
        }
        return commands;
    }

    private List<Line> outsideOfBlocks() {
        List<Line> outside = new ArrayList<>();
        boolean inside = false;
        for (int i = 0; i < lines.size(); i++) {
            if (lines.get(i).startsWith("```")) {
                inside = !inside;
            } else if (!inside) {
                outside.add(new Line(i + 1, lines.get(i)));
            }
        }
        return outside;
    }
}
