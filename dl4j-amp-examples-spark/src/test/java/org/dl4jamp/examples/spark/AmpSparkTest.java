package org.dl4jamp.examples.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.dl4jamp.examples.AmpCommand;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class AmpSparkTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @ParameterizedTest
    @CsvSource({
        "--epochs 0, --epochs 0: must be at least 1",
        "--frequency 0, --frequency 0: must be from 1 to 21",
        "--frequency 22, an epoch has 42 batches for 2 workers",
        "--master spark://x:1 --kill, leave out --master",
        "--master spark://x:1 --workers 0, --workers 0: must be at least 1",
        "--model abacus, 'but was ''abacus'''",
        "--precision fp8, 'but was ''fp8'''",
    })
    void wrongUsageIsSaidBeforeAnythingIsStarted(String arguments, String message) {
        assertEquals(2, run(arguments.split(" ", -1)), err.toString());
        assertTrue(err.toString().startsWith("amp: "), err.toString());
        assertTrue(err.toString().contains(message), err.toString());
    }

    @Test
    void jdkThatSparkDoesNotStartOnIsNamed() {
        assertTrue(SparkJvm.refusal(17).isEmpty());
        String refusal = SparkJvm.refusal(25).orElseThrow();
        assertTrue(refusal.contains("JDK 25") && refusal.contains("set JAVA_HOME to a JDK 17"), refusal);
    }

    @Test
    void modelIsATableOfClustersAndLinks() {
        assertEquals(0, run("--model", "resnet50"), err.toString());
        String table = out.toString();
        assertTrue(table.startsWith("resnet50: 205 MB of parameters and updater state"), table);
        assertTrue(table.contains("100 Gbit/s"), table);
        assertEquals(
                1, table.lines().filter(line -> line.startsWith("     1024")).count(), table);
    }

    private int run(String... arguments) {
        CommandLine command = AmpCommand.commandLine(new AmpSpark());
        command.setOut(new PrintWriter(out, true));
        command.setErr(new PrintWriter(err, true));
        return command.execute(arguments);
    }
}
