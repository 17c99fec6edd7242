package org.dl4jamp.documents;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The tables in docs/benchmarks.md that the benchmark wrote. */
final class BenchmarkTables {
    private static final Pattern PLACE =
            Pattern.compile("(?ms)^<!-- amp bench (\\S+): begin -->$(.*?)^<!-- amp bench \\1: end -->$");

    private final String page;

    private BenchmarkTables(String page) {
        this.page = page;
    }

    static BenchmarkTables read() throws IOException {
        return new BenchmarkTables(Files.readString(Page.ROOT.resolve("docs/benchmarks.md")));
    }

    /**
     * The table of one case.
     *
     * @param name of the case, with its batch in inference
     * @param cells for each side its columns
     */
    record Table(String name, Map<String, Map<String, String>> cells) {
        /** Returns the milliseconds of a step or a pass of a side, if it was measured. */
        OptionalDouble millis(String side) {
            return cell(side, "ms/step", "ms/pass");
        }

        /** Returns the shortest time of some sides. */
        OptionalDouble fastest(String... sides) {
            return Stream.of(sides)
                    .map(this::millis)
                    .flatMapToDouble(OptionalDouble::stream)
                    .min();
        }

        /** Returns the peak memory of a side's process in MB. */
        OptionalDouble peak(String side) {
            return cell(side, "peak MB");
        }

        private OptionalDouble cell(String side, String... columns) {
            return Stream.of(columns)
                    .map(cells.getOrDefault(side, Map.of())::get)
                    .filter(text -> text != null && !text.isEmpty())
                    .mapToDouble(Double::parseDouble)
                    .findFirst();
        }
    }

    /** Returns the tables between some marks, in the order of the marks. */
    List<Table> of(String... places) {
        Map<String, String> sections = new LinkedHashMap<>();
        Matcher place = PLACE.matcher(page);
        while (place.find()) {
            if (sections.put(place.group(1), place.group(2)) != null) {
                throw new IllegalStateException("docs/benchmarks.md has two sections " + place.group(1));
            }
        }
        List<Table> tables = new ArrayList<>();
        for (String name : places) {
            if (!sections.containsKey(name)) {
                throw new IllegalStateException("docs/benchmarks.md has no section " + name);
            }
            for (String section : sections.get(name).split("(?m)^### ", -1)) {
                if (section.contains("\n|")) {
                    tables.add(table(section));
                }
            }
        }
        return tables;
    }

    private static Table table(String section) {
        List<String> lines = section.lines().toList();
        List<List<String>> rows = lines.stream()
                .filter(line -> line.startsWith("|"))
                .map(line -> Stream.of(line.split("\\|", -1)).map(String::strip).toList())
                .toList();
        Map<String, Map<String, String>> cells = new LinkedHashMap<>();
        for (List<String> row : rows.subList(2, rows.size())) {
            Map<String, String> columns = new LinkedHashMap<>();
            for (int i = 2; i < row.size() - 1; i++) {
                columns.put(rows.get(0).get(i), row.get(i));
            }
            cells.put(row.get(1), columns);
        }
        return new Table(lines.get(0), cells);
    }
}
