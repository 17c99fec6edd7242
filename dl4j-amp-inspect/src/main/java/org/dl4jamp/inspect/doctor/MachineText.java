package org.dl4jamp.inspect.doctor;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.dl4jamp.inspect.gpu.Gpu;
import org.dl4jamp.inspect.gpu.GpuReport;
import org.dl4jamp.inspect.machine.AutomaticChoice;
import org.dl4jamp.inspect.machine.EngineState;
import org.dl4jamp.inspect.machine.Host;
import org.dl4jamp.inspect.machine.JavaRuntime;
import org.dl4jamp.inspect.machine.Nd4jReport;
import org.dl4jamp.inspect.machine.SystemReport;
import org.dl4jamp.inspect.settings.Setting;
import org.dl4jamp.inspect.text.Bytes;
import org.dl4jamp.inspect.text.Paragraphs;

/** A machine as text for a terminal, in sections. */
public final class MachineText {
    private static final String LABEL = "  %-12s ";
    private static final String INDENT = " ".repeat(String.format(LABEL, "").length());
    private static final String NEW_LINE = System.lineSeparator();

    private MachineText() {}

    /** Returns the sections on the machine, its GPUs and the settings, which need no ND4J. */
    public static String of(SystemReport system) {
        List<String> lines = new ArrayList<>();
        lines.add("Machine");
        host(system.host(), lines);
        java(system.java(), lines);
        lines.add("");
        lines.add("GPUs");
        gpus(system.gpus(), lines);
        lines.add("");
        lines.add("Settings");
        settings(system.settings(), lines);
        return text(lines);
    }

    /** Returns the sections on ND4J, the engines and the choice of AUTO. */
    public static String of(Nd4jReport nd4j) {
        List<String> lines = new ArrayList<>();
        lines.add("ND4J");
        lines.add(entry("backend", nd4j.backend()));
        if (!nd4j.loaded()) {
            lines.add(entry("", nd4j.failure()));
            return text(lines);
        }
        lines.add(entry("computes on", nd4j.device() + ", BLAS: " + nd4j.blas() + ", " + nd4j.threads() + " threads"));
        lines.add(entry(
                "memory",
                "arrays outside the heap: at most " + limit(nd4j.arraysLimitBytes()) + "; the whole process: "
                        + limit(nd4j.processLimitBytes())));
        lines.add("");
        lines.add("Engines");
        nd4j.engines().forEach(engine -> engine(engine, lines));
        lines.add("");
        lines.add("AUTO");
        lines.add(Paragraphs.wrapped("  ", automatic(nd4j.automatic())));
        return text(lines);
    }

    private static void host(Host host, List<String> lines) {
        lines.add(entry("system", host.system() + ", " + host.architecture()));
        lines.add(entry(
                "processor",
                host.cpu()
                        + (host.processors() == null ? "" : ", " + host.processors() + " processors")
                        + (host.cores() == null ? "" : ", " + host.cores() + " cores")));
        lines.add(entry("instructions", instructions(host)));
        lines.add(entry(
                "memory",
                Bytes.text(host.memoryBytes())
                        + (host.availableMemoryBytes() == null
                                ? ""
                                : ", " + Bytes.text(host.availableMemoryBytes()) + " available")));
    }

    private static String instructions(Host host) {
        if (host.instructionSets() == null) {
            return "unknown on this operating system; the engine onednn below tells what it finds";
        }
        return String.join(" ", host.instructionSets())
                + (host.bfloat16() ? ": multiplies BFLOAT16 natively" : ": no products of BFLOAT16");
    }

    private static void java(JavaRuntime java, List<String> lines) {
        lines.add(entry(
                "Java",
                java.version() + " (" + java.vendor() + "), " + java.processors() + " processors, heap of at most "
                        + Bytes.text(java.heapLimitBytes())));
    }

    private static void gpus(GpuReport gpus, List<String> lines) {
        if (gpus.missing() != null) {
            lines.add(entry("none", gpus.missing() + "."));
        }
        for (Gpu gpu : gpus.found()) {
            lines.add(Paragraphs.wrapped(
                    "  ",
                    gpu.name()
                            + (gpu.computeCapability() == null
                                    ? ", compute capability unknown"
                                    : ", compute capability " + gpu.computeCapability() + " (" + gpu.generation() + ")")
                            + (gpu.memoryBytes() == null ? "" : ", " + Bytes.text(gpu.memoryBytes()))
                            + (gpu.driver() == null ? "" : ", driver " + gpu.driver())));
            for (Gpu.Support support : gpu.backends()) {
                lines.add(INDENT
                        + String.format(
                                "%-16s %-11s %s",
                                support.artifact(),
                                support.version(),
                                switch (support.code()) {
                                    case MACHINE_CODE -> "machine code for this GPU";
                                    case PTX -> "PTX, which the driver compiles for this GPU";
                                    case NONE -> "no code for this GPU";
                                }));
            }
        }
        gpus.advice().forEach(advice -> lines.add(Paragraphs.wrapped("  - ", advice)));
    }

    private static void settings(List<Setting> settings, List<String> lines) {
        if (settings.isEmpty()) {
            lines.add("  nothing that matters is set");
        }
        for (Setting setting : settings) {
            lines.add((setting.harms() ? "  ! " : "  - ")
                    + setting.name()
                    + (setting.value() == null ? " is not set" : "=" + setting.value()));
            String advice = setting.advice() == null ? "" : " " + setting.advice();
            lines.add(Paragraphs.wrapped("    ", setting.effect() + advice));
        }
    }

    private static void engine(EngineState engine, List<String> lines) {
        if (engine.unavailable() != null) {
            lines.add(entry(engine.name(), "unavailable: " + engine.unavailable()));
            return;
        }
        String computes = engine.computes().stream().map(Enum::name).collect(Collectors.joining(", "));
        lines.add(entry(engine.name(), "computes " + computes));
        if (!engine.facts().isEmpty()) {
            lines.add(entry(
                    "",
                    engine.facts().entrySet().stream()
                            .map(fact -> fact.getKey() + " " + fact.getValue())
                            .collect(Collectors.joining(", "))));
        }
        engine.cannot().forEach((precision, reason) -> lines.add(entry("", "not " + precision + ": " + reason)));
    }

    /** Returns the choice of AUTO in a sentence. */
    static String automatic(AutomaticChoice automatic) {
        return automatic.precision()
                + (automatic.dl4jAsIs() ? ", as DL4J computes it" : " on engine " + automatic.engine()) + ": "
                + automatic.reason() + ".";
    }

    private static String limit(long bytes) {
        return bytes == 0 ? "no limit" : Bytes.text(bytes);
    }

    private static String entry(String label, String text) {
        return Paragraphs.wrapped(String.format(LABEL, label), text);
    }

    private static String text(List<String> lines) {
        return String.join(NEW_LINE, lines) + NEW_LINE;
    }
}
