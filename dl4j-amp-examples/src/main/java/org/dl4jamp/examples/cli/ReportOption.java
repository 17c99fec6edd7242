package org.dl4jamp.examples.cli;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.inspect.report.AmpReport;
import org.dl4jamp.precision.AmpException;
import picocli.CommandLine;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** The option for a report on the training in mixed precision, as an HTML page for each network. */
public final class ReportOption {
    /** The trainings of commands are short. */
    private static final int LAYER_INTERVAL = 5;

    private static final String NAME = "--report";

    @Option(
            names = NAME,
            paramLabel = "FILE.html",
            description = {
                "Where to write a report on the training in mixed precision, as an HTML page.",
                "Where there are two networks their names are added to that of the file."
            })
    private Path file;

    private final Map<String, AmpReport> reports = new LinkedHashMap<>();

    /** Ends a report that is attached to a network. */
    public interface Attached extends AutoCloseable {
        @Override
        void close();
    }

    /** Returns the file that was given, or null. */
    public Path file() {
        return file;
    }

    /**
     * Makes the reports, if the option was given.
     *
     * @param networks names of the networks, where there are several
     * @throws ParameterException if a file can't be written, so that no training is done in vain
     */
    public void begin(CommandLine command, String... networks) {
        if (file == null) {
            return;
        }
        // Also where names are added to it: a folder is none.
        OutputFile.requireWritable(command, NAME, file);
        if (networks.length == 0) {
            begin(command, "", file);
        }
        for (String network : networks) {
            begin(command, network, named(network));
        }
    }

    private void begin(CommandLine command, String network, Path to) {
        OutputFile.requireWritable(command, NAME, to);
        try {
            reports.put(network, new AmpReport(to, LAYER_INTERVAL));
        } catch (AmpException e) {
            throw new ParameterException(command, NAME + " " + to + ": " + e.getMessage(), e);
        }
    }

    /** Returns the file's name with that of a network before the ending. */
    private Path named(String network) {
        String name = file.getFileName().toString();
        int dot = name.lastIndexOf('.');
        int end = dot > 0 ? dot : name.length();
        return file.resolveSibling(name.substring(0, end) + "-" + network + name.substring(end));
    }

    /**
     * Attaches a report to a network that begins to train; does nothing if the option wasn't given.
     *
     * @param name its name where there are several, otherwise empty
     * @return ends the report, while the network is still in mixed precision
     */
    public Attached attach(NeuralNetwork network, String name) {
        AmpReport report = reports.get(name);
        if (report == null) {
            return () -> {};
        }
        if (network instanceof ComputationGraph graph) {
            graph.addListeners(report);
        } else {
            ((MultiLayerNetwork) network).addListeners(report);
        }
        return report::close;
    }

    /**
     * Prints where the reports are.
     *
     * @throws ParameterException if one couldn't be written after all, such as on a full disk
     */
    public void end(CommandLine command) {
        for (AmpReport report : reports.values()) {
            if (report.failure().isPresent()) {
                throw OutputFile.cannotWrite(
                        command, NAME, report.file(), report.failure().get());
            }
            command.getOut().println("Report: " + report.file());
        }
        command.getOut().flush();
    }
}
