package org.dl4jamp.benchmarks.kernels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.dl4jamp.benchmarks.side.Profile;
import org.dl4jamp.benchmarks.side.Stopwatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OneDnnLogTest {
    private static final String SIZES = "mb8ic2048oc1000";

    @TempDir
    private Path folder;

    private Profile read(String... lines) throws IOException {
        Path log = folder.resolve("log");
        Files.write(log, List.of(lines));
        return OneDnnLog.read(log);
    }

    private static String line(String kind, String pass, String sizes, String begin, String milliseconds) {
        return "onednn_verbose,v1," + begin + ",primitive,exec,cpu," + kind + ",jit:avx2," + pass
                + ",src:f32::blocked:acdb::f0 wei:f32::blocked:Acdb16a::f0,attr-scratchpad:user,alg:some," + sizes + ","
                + milliseconds;
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "convolution | mb1_ic3oc64_ih230oh112kh7sh2dh0ph0_iw230ow112kw7sw2dw0pw0"
                        + " | 7×7, 3→64, 12544 positions",
                "convolution | mb2_g32ic32oc64_ih8oh8kh3sh1dh0ph1_iw8ow4kw1sw1dw0pw1"
                        + " | 3×1, 32→64 in 32 groups, 64 positions",
                "convolution | mb1_ic4oc5_id3od2kd2sd1dd0pd0_ih3oh2kh2sh1dh0ph0_iw3ow2kw2sw1dw0pw0"
                        + " | 2×2×2, 4→5, 8 positions",
                "inner_product | mb8ic2048oc1000 | 1×1, 2048→1000, 8 positions",
                "inner_product | mb1ic50ih4iw4oc500 | 1×1, 800→500, 1 position",
                "matmul | 256x1024:1024x4096 | 1×1, 1024→4096, 256 positions",
                "matmul | 4x8x16x32:4x8x32x64 | 1×1, 32→64, 512 positions",
                "pooling | mb1ic64_ih112oh55kh3sh2dh0ph0_iw112ow55kw3sw2dw0pw0 | pooling",
                "reorder | 1x3x224x224 | copies",
                "rnn | l1t64mb32sic512slc512dhc512dic512 | recurrent layers",
                "shuffle | 1x2 | shuffle"
            })
    void kernelsAreNamedByWhatTheyCompute(String kind, String sizes, String name) throws IOException {
        Profile profile = read(line(kind, "forward_inference", sizes, "7.25", "0.5"), Stopwatch.STEP);
        assertEquals(name, profile.parts().get(0).what());
        assertEquals("jit:avx2", profile.parts().get(0).kind());
        Profile back = read(line(kind, "backward_data", sizes, "7.25", "0.5"), Stopwatch.STEP);
        assertEquals(name + ", backward data", back.parts().get(0).what());
    }

    @Test
    void theTimeOfAKernelIsTheMedianOfItsTimeInEachStep() throws IOException {
        Profile profile = read(
                "ONEDNN says something, exec",
                "onednn_verbose,v1,info,cpu,runtime:OpenMP,nthr:2",
                "onednn_verbose,v1,1,primitive,create:cache_hit,cpu,inner_product,jit:avx2,undef,,,,mb1ic1oc1,0.01",
                line("inner_product", "undef", SIZES, "10", "1"),
                line("eltwise", "undef", "8x1000", "11", "0.25"),
                line("inner_product", "undef", SIZES, "12", "2"),
                Stopwatch.STEP,
                line("inner_product", "undef", SIZES, "20", "100"),
                line("eltwise", "undef", "8x1000", "120", "0.75"),
                line("inner_product", "undef", SIZES, "121", "4"),
                Stopwatch.STEP,
                line("inner_product", "undef", SIZES, "130", "2"),
                line("inner_product", "undef", SIZES, "140", "3"),
                line("eltwise", "undef", "8x1000", "150", "0.5"),
                Stopwatch.STEP,
                line("inner_product", "undef", SIZES, "160", "9"));
        assertEquals(2, profile.parts().size());
        assertEquals(2, profile.parts().get(0).timesPerStep());
        assertEquals(5e-3, profile.parts().get(0).secondsPerStep(), 1e-12);
        assertEquals(1, profile.parts().get(1).timesPerStep());
        assertEquals(0.5e-3, profile.parts().get(1).secondsPerStep(), 1e-12);
    }

    @Test
    void whatRunsInSeveralThreadsAtOnceCountsOnce() throws IOException {
        Profile profile = read(
                line("eltwise", "undef", "8x1000", "12", "1"),
                line("inner_product", "undef", SIZES, "10", "4"),
                line("inner_product", "undef", SIZES, "11", "5"),
                line("eltwise", "undef", "8x1000", "20", "1"),
                Stopwatch.STEP);
        assertEquals(6e-3, profile.parts().get(0).secondsPerStep(), 1e-12);
        assertEquals(2, profile.parts().get(0).timesPerStep());
        assertEquals(1e-3, profile.parts().get(1).secondsPerStep(), 1e-12);
    }

    @Test
    void sizesOfAnotherFormAreRefused() {
        String line = line("convolution", "undef", "a convolution", "1", "1");
        var refused = assertThrows(IllegalArgumentException.class, () -> read(line, Stopwatch.STEP));
        assertTrue(refused.getMessage().contains("a convolution"), refused.getMessage());
    }
}
