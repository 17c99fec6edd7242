import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.pytorch.CompilationUnit;
import org.bytedeco.pytorch.Function;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.QualifiedName;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Runs PyTorch's {@code _amp_update_scale_}, the operator behind {@code torch.amp.GradScaler.update}, over random
 * sequences of overflows and writes what it made of the scale. The only argument is the file to write. See the pom.xml
 * beside for the command.
 */
public final class GenerateAmpUpdateScale {
    // The operator has no Java binding; TorchScript reaches every operator. GradScaler keeps its scale in a float32
    // tensor and its growth tracker in an int32 tensor, too: the data types 6 and 3, whose names only Python resolves.
    private static final String REPLAY = """
            def replay(overflows: Tensor, initial: float, growth: float, backoff: float, interval: int) -> Tensor:
                scale = torch.full([1], initial, dtype=6)
                tracker = torch.zeros([1], dtype=3)
                scales = torch.zeros([overflows.size(0), 2], dtype=6)
                for i in range(overflows.size(0)):
                    torch._amp_update_scale_(scale, tracker, overflows[i : i + 1], growth, backoff, interval)
                    scales[i, 0] = scale[0]
                    scales[i, 1] = tracker[0]
                return scales
            """;

    private record Settings(double initial, double growth, double backoff, int interval, double overflowProbability, int steps) {}

    private static final List<Settings> CASES = List.of(
            new Settings(65536, 2, 0.5, 2000, 0.0002, 12000),
            new Settings(65536, 2, 0.5, 7, 0.1, 400),
            new Settings(1024, 1.7, 0.3, 3, 0.17, 600),
            new Settings(4, 1.0001, 0.9999, 1, 0.5, 600),
            new Settings(0.1, 3.3, 0.7, 2, 0.5, 400),
            new Settings(3.0e38, 1.05, 0.9, 1, 0.3, 400),
            new Settings(12345.678, 1.1, 1.0 / 3, 5, 0.02, 600));

    public static void main(String[] arguments) throws IOException {
        CompilationUnit unit = torch.compile(REPLAY);
        Function replay = unit.find_function(new QualifiedName("replay"));
        Random random = new Random(20180215);
        Path file = Path.of(arguments[0]);
        Files.createDirectories(file.toAbsolutePath().getParent());
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file, StandardCharsets.US_ASCII))) {
            out.println("# Written by GenerateAmpUpdateScale with PyTorch " + System.getProperty("pytorch.version") + "; do not edit.");
            out.println("# case: initialScale growthFactor backoffFactor growthInterval, then a line for each change"
                    + " of the scale and for each");
            out.println("# overflow: step, overflow (1) or not (0), scale and growth tracker after the step; last,"
                    + " the number of steps.");
            for (Settings settings : CASES) {
                write(out, settings, random, replay);
            }
        }
    }

    private static void write(PrintWriter out, Settings settings, Random random, Function replay) {
        float[] overflows = new float[settings.steps];
        for (int i = 0; i < overflows.length; i++) {
            overflows[i] = random.nextDouble() < settings.overflowProbability ? 1 : 0;
        }
        IValueVector stack = new IValueVector();
        stack.push_back(new IValue(torch.from_blob(new FloatPointer(overflows), new long[] {overflows.length})));
        stack.push_back(new IValue(settings.initial));
        stack.push_back(new IValue(settings.growth));
        stack.push_back(new IValue(settings.backoff));
        stack.push_back(new IValue((long) settings.interval));
        replay.run(stack);
        Tensor scales = stack.get(0).toTensor().contiguous();
        float[] after = new float[2 * overflows.length];
        new FloatPointer(scales.data_ptr_float()).get(after);

        out.println("case " + Double.toHexString(settings.initial) + " " + Double.toHexString(settings.growth) + " "
                + Double.toHexString(settings.backoff) + " " + settings.interval);
        float scale = (float) settings.initial;
        for (int i = 0; i < overflows.length; i++) {
            if (overflows[i] != 0 || after[2 * i] != scale) {
                out.println(i + " " + (int) overflows[i] + " " + Float.toHexString(after[2 * i]) + " " + (int) after[2 * i + 1]);
            }
            scale = after[2 * i];
        }
        out.println("steps " + overflows.length);
    }

    private GenerateAmpUpdateScale() {}
}
