package org.dl4jamp.onednn;

import java.util.List;
import org.nd4j.linalg.api.buffer.DataType;

/** The types that can be tested on this CPU. */
final class Types {
    private Types() {}

    static List<DataType> here() {
        return OneDnnLibrary.bfloat16() == OneDnnLibrary.Bfloat16.NATIVE
                ? List.of(DataType.FLOAT, DataType.BFLOAT16)
                : List.of(DataType.FLOAT);
    }
}
