package org.dl4jamp.onednn;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.dl4jamp.onednn.primitive.OneDnnLibrary;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.buffer.DataType;
import org.slf4j.LoggerFactory;

/**
 * The types that oneDNN computes on this CPU, natively or by way of FP32: a test of BFLOAT16 is the same in either
 * case. Without any BFLOAT16 in oneDNN, FP32 is tested. The log names the tested types once in a run.
 */
public final class Types {
    private static final List<DataType> HERE = here(OneDnnLibrary.bfloat16());

    private Types() {}

    private static List<DataType> here(OneDnnLibrary.Bfloat16 bfloat16) {
        Optional<String> cannot = new OneDnnEngine().cannot(Precision.BFLOAT16);
        LoggerFactory.getLogger(Types.class)
                .info(
                        "oneDNN takes this CPU for {}: {}",
                        OneDnnLibrary.instructionSet(),
                        cannot.map(reason -> "BFLOAT16 is not tested, its tests run in FP32, because " + reason)
                                .orElse("BFLOAT16 is tested, "
                                        + bfloat16.toString().toLowerCase(Locale.ROOT)));
        return cannot.isPresent() ? List.of(DataType.FLOAT) : List.of(DataType.FLOAT, DataType.BFLOAT16);
    }

    public static List<DataType> here() {
        return HERE;
    }

    /** The same, as what a network is enabled with. */
    public static List<Precision> precisions() {
        return here().stream().map(Types::precision).toList();
    }

    /** BFLOAT16, or FP32 in its place. */
    public static DataType half() {
        return HERE.get(HERE.size() - 1);
    }

    /** The same, as what a network is enabled with. */
    public static Precision halfPrecision() {
        return precision(half());
    }

    private static Precision precision(DataType type) {
        return type == DataType.BFLOAT16 ? Precision.BFLOAT16 : Precision.FLOAT;
    }
}
