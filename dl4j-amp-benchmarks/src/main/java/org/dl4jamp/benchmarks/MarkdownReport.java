package org.dl4jamp.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.dl4jamp.benchmarks.kernels.KernelTable;
import org.dl4jamp.benchmarks.side.Profile;

/** Figures as Markdown, alone or in a page that has places for them, each between two marks with its name. */
final class MarkdownReport {
    /** A place: marks are lines of their own, so that a sentence may mention them. */
    private static final Pattern PLACE =
            Pattern.compile("(?ms)^<!-- amp bench (\\S+): begin -->$(.*?)^<!-- amp bench \\1: end -->$");

    private MarkdownReport() {}

    /** Returns the line before a place. */
    static String begin(String place) {
        return "<!-- amp bench " + place + ": begin -->";
    }

    /** Returns the line behind a place. */
    static String end(String place) {
        return "<!-- amp bench " + place + ": end -->";
    }

    /** Returns the places of a page, none if there is no such file or if it's a device, which may have no end. */
    static List<String> places(Path file) throws IOException {
        if (!Files.isRegularFile(file)) {
            return List.of();
        }
        return PLACE.matcher(Files.readString(file))
                .results()
                .map(mark -> mark.group(1))
                .toList();
    }

    /** Returns the tables of some cases, measured on the same machine. */
    static String of(List<CaseFigures> cases) {
        return machine(cases)
                + cases.stream().map(each -> new FigureTable(each).markdown()).collect(Collectors.joining("\n"));
    }

    /** Returns the kernels of some cases, measured on the same machine, a table for each. */
    static String ofKernels(List<CaseFigures> cases) {
        return machine(cases) + cases.stream().map(MarkdownReport::kernels).collect(Collectors.joining("\n"));
    }

    /** Returns the kernels of a case. */
    static String kernels(CaseFigures figures) {
        Map<String, Profile> recorded = new LinkedHashMap<>();
        figures.sides().forEach((side, measured) -> {
            if (measured.isAvailable()) {
                recorded.put(side, measured.profile());
            }
        });
        String table = recorded.isEmpty()
                ? ""
                : KernelTable.of(recorded, figures.task().unit());
        StringBuilder text = new StringBuilder("### " + figures.title() + "\n\n" + table);
        figures.unavailable()
                .forEach((side, reason) ->
                        text.append('\n').append(side).append(" unavailable: ").append(reason));
        return text.toString();
    }

    /** Returns one table of some cases: of each a step in stock DL4J and with what AUTO chooses. */
    static String inOneTable(List<CaseFigures> cases) {
        return machine(cases) + new CaseTable(cases).markdown();
    }

    private static String machine(List<CaseFigures> cases) {
        Machine machine = cases.get(0).machine();
        CaseFigures.Method method = cases.get(0).method();
        return machine.cpu() + ", " + machine.cores() + " cores, " + method.threads() + " threads, "
                + machine.memoryBytes() / (1 << 20) + " MB, " + machine.instructionSet() + "; " + machine.os()
                + "; JDK "
                + machine.jdk() + "; DL4J " + machine.dl4j() + ", PyTorch " + machine.pytorch() + ", ONNX Runtime "
                + machine.onnxruntime() + ", oneDNN "
                + machine.onednn()
                + (machine.maxCpuIsa() == null ? "" : "; ONEDNN_MAX_CPU_ISA " + machine.maxCpuIsa())
                + "; OMP_WAIT_POLICY " + machine.ompWaitPolicy() + "; " + method.repetitions()
                + " repetitions"
                + (method.schedule().turns() == 1
                        ? ""
                        : ", by " + method.schedule().turns() + " turns") + ".\n\n";
    }

    /**
     * Writes Markdown into a file: into its place if the file has places, otherwise instead of what was there.
     *
     * @throws IllegalArgumentException if the file has places, but not this one, or this one twice
     */
    static void write(Path file, String place, String markdown) throws IOException {
        List<String> places = places(file);
        if (places.isEmpty()) {
            Files.writeString(file, markdown);
            return;
        }
        if (!places.contains(place)) {
            throw new IllegalArgumentException(file + " has places for " + places + ", none for " + place);
        }
        if (Collections.frequency(places, place) > 1) {
            throw new IllegalArgumentException(file + " has the place " + place + " twice");
        }
        String page = Files.readString(file);
        MatchResult found = PLACE.matcher(page)
                .results()
                .filter(each -> each.group(1).equals(place))
                .findFirst()
                .orElseThrow();
        Files.writeString(
                file, page.substring(0, found.start(2)) + "\n\n" + markdown + "\n" + page.substring(found.end(2)));
    }
}
