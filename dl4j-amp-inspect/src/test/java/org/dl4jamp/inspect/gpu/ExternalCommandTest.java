package org.dl4jamp.inspect.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import org.dl4jamp.inspect.gpu.ExternalCommand.Outcome;
import org.dl4jamp.inspect.gpu.ExternalCommand.Result;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

class ExternalCommandTest {
    private static Result run(Duration limit, String... command) {
        return ExternalCommand.SYSTEM.run(List.of(command), limit);
    }

    @Test
    void aProgramThatIsNotThereIsAbsent() {
        assertEquals(
                Outcome.ABSENT,
                run(Duration.ofSeconds(5), "no-such-program-of-amp").outcome());
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void bothOutputsAndTheExitCodeAreReturned() {
        Result result = run(Duration.ofSeconds(20), "sh", "-c", "echo one; echo; echo ' two ' >&2; exit 3");
        assertEquals(new Result(Outcome.ENDED, 3, List.of("one", "two")), result);
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aProgramThatHangsIsStopped() {
        long begin = System.nanoTime();
        assertEquals(Outcome.STOPPED, run(Duration.ofMillis(200), "sleep", "60").outcome());
        assertTrue(System.nanoTime() - begin < 30e9);
    }
}
