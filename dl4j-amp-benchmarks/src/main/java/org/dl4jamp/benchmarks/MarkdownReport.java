package org.dl4jamp.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/** Figures as Markdown, alone or in a page that has a place for them. */
final class MarkdownReport {
    static final String BEGIN = "<!-- amp bench: begin -->";
    static final String END = "<!-- amp bench: end -->";

    private MarkdownReport() {}

    /** The tables of some cases, measured on the same machine. */
    static String of(List<CaseFigures> cases) {
        Machine machine = cases.get(0).machine();
        CaseFigures.Method method = cases.get(0).method();
        return machine.cpu() + ", " + machine.cores() + " cores, " + method.threads() + " threads, "
                + machine.memoryBytes() / (1 << 20) + " MB, " + machine.instructionSet() + "; " + machine.os()
                + "; JDK "
                + machine.jdk() + "; DL4J " + machine.dl4j() + ", PyTorch " + machine.pytorch() + ", oneDNN "
                + machine.onednn() + "; OMP_WAIT_POLICY " + machine.ompWaitPolicy() + "; " + method.repetitions()
                + " repetitions.\n\n"
                + cases.stream().map(each -> new FigureTable(each).markdown()).collect(Collectors.joining("\n"));
    }

    /** Writes Markdown into a file: between the two marks if it has them, otherwise in place of what was there. */
    static void write(Path file, String markdown) throws IOException {
        String page = Files.exists(file) ? Files.readString(file) : "";
        int begin = page.indexOf(BEGIN);
        int end = page.indexOf(END);
        if (begin >= 0 && end > begin) {
            Files.writeString(
                    file, page.substring(0, begin + BEGIN.length()) + "\n\n" + markdown + "\n" + page.substring(end));
        } else {
            Files.writeString(file, markdown);
        }
    }
}
