package org.dl4jamp.inspect.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.dl4jamp.inspect.gpu.ExternalCommand.Outcome;
import org.dl4jamp.inspect.gpu.ExternalCommand.Result;
import org.junit.jupiter.api.Test;

class NvidiaSmiTest {
    private final List<List<String>> asked = new ArrayList<>();

    private NvidiaSmi.Answer answer(Result... results) {
        return new NvidiaSmi((command, limit) -> {
                    asked.add(command);
                    return results[asked.size() - 1];
                })
                .ask();
    }

    private static Result lines(String... lines) {
        return new Result(Outcome.ENDED, 0, List.of(lines));
    }

    @Test
    void readsEachGpuOfALine() {
        NvidiaSmi.Answer answer = answer(lines(
                "NVIDIA H100 80GB HBM3, 9.0, 535.129.03, 81559 MiB",
                "NVIDIA GeForce RTX 3090, 8.6, 535.129.03, 24576 MiB"));
        assertEquals(Optional.empty(), answer.missing());
        Gpu first = answer.gpus().get(0);
        assertEquals("NVIDIA H100 80GB HBM3", first.name());
        assertEquals("9.0", first.computeCapability());
        assertEquals("Hopper", first.generation());
        assertEquals("535.129.03", first.driver());
        assertEquals(81559L * 1024 * 1024, first.memoryBytes());
        Gpu second = answer.gpus().get(1);
        assertEquals("8.6", second.computeCapability());
        assertEquals("Ampere", second.generation());
        assertEquals(
                List.of(
                        "nvidia-smi",
                        "--query-gpu=name,compute_cap,driver_version,memory.total",
                        "--format=csv,noheader"),
                asked.get(0));
    }

    @Test
    void asksADriverWithoutComputeCapabilitiesForTheRest() {
        Result unknown = new Result(Outcome.ENDED, 2, List.of("Field \"compute_cap\" is not a valid field to query."));
        NvidiaSmi.Answer answer = answer(unknown, lines("Tesla K80, 470.82.01, 11441 MiB"));
        Gpu gpu = answer.gpus().get(0);
        assertEquals("Tesla K80", gpu.name());
        assertNull(gpu.computeCapability());
        assertNull(gpu.generation());
        assertEquals("470.82.01", gpu.driver());
        assertEquals(11441L << 20, gpu.memoryBytes());
        assertEquals(List.of(), gpu.backends());
        assertEquals(
                "--query-gpu=name,driver_version,memory.total", asked.get(1).get(1));
    }

    @Test
    void whatTheDriverDoesNotSayIsUnknown() {
        Gpu gpu = answer(lines("GRID A100-4C, [N/A], 550.54.14, [N/A]")).gpus().get(0);
        assertNull(gpu.computeCapability());
        assertNull(gpu.memoryBytes());
        Gpu odd = answer2("something else").gpus().get(0);
        assertEquals("something else", odd.name());
        assertNull(odd.driver());
    }

    private static NvidiaSmi.Answer answer2(String line) {
        return new NvidiaSmi((command, limit) -> lines(line)).ask();
    }

    @Test
    void withoutTheProgramThereIsNoDriver() {
        NvidiaSmi.Answer answer = answer(new Result(Outcome.ABSENT, -1, List.of("No such file or directory")));
        assertEquals(List.of(), answer.gpus());
        assertTrue(answer.missing().orElseThrow().startsWith("no NVIDIA driver found"), answer.toString());
        assertEquals(1, asked.size());
    }

    @Test
    void aFailureIsSaidWithItsFirstLine() {
        String line = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.";
        NvidiaSmi.Answer answer = answer(new Result(Outcome.ENDED, 9, List.of(line, "More.")));
        assertEquals(
                "nvidia-smi failed with exit code 9: " + line, answer.missing().orElseThrow());
    }

    @Test
    void aProgramThatHangsAndADriverWithoutGpuAreSaid() {
        assertEquals(
                "nvidia-smi didn't answer within 10 s",
                answer(new Result(Outcome.STOPPED, -1, List.of())).missing().orElseThrow());
        NvidiaSmi noDevices = new NvidiaSmi((command, limit) -> lines());
        assertEquals(
                "NVIDIA's driver is there, and finds no GPU",
                noDevices.ask().missing().orElseThrow());
    }
}
