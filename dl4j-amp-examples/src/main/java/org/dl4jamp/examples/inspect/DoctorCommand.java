package org.dl4jamp.examples.inspect;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.dl4jamp.examples.cli.OutputFile;
import org.dl4jamp.inspect.doctor.DoctorReport;
import org.dl4jamp.inspect.doctor.MachineText;
import org.dl4jamp.inspect.doctor.SpeedText;
import org.dl4jamp.inspect.machine.MachineReport;
import org.dl4jamp.inspect.machine.Nd4jReport;
import org.dl4jamp.inspect.machine.SystemReport;
import org.dl4jamp.inspect.machine.Versions;
import org.dl4jamp.inspect.speed.SpeedReport;
import org.dl4jamp.inspect.speed.SpeedTest;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code amp doctor}: what this machine offers, and what dl4j-amp does here. */
@Command(
        name = "doctor",
        mixinStandardHelpOptions = true,
        description = {
            "Shows what this machine offers and what dl4j-amp does here: processor, GPUs, settings, ND4J, engines, the"
                    + " precision that AUTO takes.",
            "Then measures training in each precision for at most " + SpeedTest.SECONDS + " seconds, and says how many"
                    + " times faster than stock DL4J it is."
        })
public final class DoctorCommand implements Callable<Integer> {
    /** The value of {@code --json} that stands for standard output. */
    private static final Path STANDARD_OUTPUT = Path.of("-");

    @Option(
            names = "--json",
            paramLabel = "FILE",
            description = "Where to write the same as JSON; - prints it in place of the text.")
    private Path json;

    @Option(names = "--no-measure", description = "Measures nothing: the rest takes a second or two.")
    private boolean noMeasure;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        boolean printsJson = STANDARD_OUTPUT.equals(json);
        Path file = printsJson ? null : json;
        OutputFile.requireWritable(spec.commandLine(), "--json", file);
        PrintWriter out = printsJson
                ? new PrintWriter(Writer.nullWriter())
                : spec.commandLine().getOut();
        // Printed before ND4J is loaded: a backend that doesn't fit the GPU may end the process.
        out.println("dl4j-amp " + Versions.dl4jAmp());
        SystemReport system = SystemReport.ofThisProcess();
        out.println();
        out.println(MachineText.of(system));
        out.flush();
        Nd4jReport nd4j = Nd4jReport.load(system.gpus());
        out.println(MachineText.of(nd4j));
        out.flush();
        SpeedReport speed = null;
        if (!noMeasure && nd4j.loaded()) {
            speed = SpeedTest.run(this::progress);
            out.println(SpeedText.of(speed, nd4j.automatic()));
            out.flush();
        }
        MachineReport machine = new MachineReport(Versions.dl4jAmp(), system, nd4j);
        DoctorReport report = new DoctorReport(machine, speed);
        if (printsJson) {
            spec.commandLine().getOut().print(OutputFile.json(report));
            spec.commandLine().getOut().flush();
        }
        OutputFile.writeJson(spec.commandLine(), file, report);
        return ExitCode.OK;
    }

    private void progress(String line) {
        spec.commandLine().getErr().println(line);
        spec.commandLine().getErr().flush();
    }
}
