package org.dl4jamp.precision;

import java.util.Optional;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * The number format in which the layers of lower precision compute and keep their activations.
 *
 * <p>The counterpart of the {@code dtype} argument of PyTorch's {@code torch.autocast}. Parameters, gradients and
 * updater state of the network are FLOAT whatever is chosen here.
 */
public enum Precision {
    /**
     * The fastest precision here: {@link #HALF} on a CUDA backend, or {@link #BFLOAT16} on a CPU for which an engine
     * computes it natively. Otherwise {@link #FLOAT}, on an engine that computes it faster than DL4J if there is one.
     * The plan has the choice with its reason, and so has the log if it's FP32.
     */
    AUTO(null),
    /**
     * IEEE 754 binary16: 11 bits of precision, largest value 65504, smallest normal value 2<sup>-14</sup>. Needs loss
     * scaling.
     */
    HALF(DataType.HALF),
    /** bfloat16: 8 bits of precision with the range of FP32. Needs no loss scaling. */
    BFLOAT16(DataType.BFLOAT16),
    /** FP32: every layer computes as DL4J does, or in FP32 on the engine that the settings name. */
    FLOAT(DataType.FLOAT);

    private final DataType dataType;

    Precision(DataType dataType) {
        this.dataType = dataType;
    }

    /**
     * Returns the ND4J data type of this precision.
     *
     * @return the data type, empty for {@link #AUTO}
     */
    public Optional<DataType> dataType() {
        return Optional.ofNullable(dataType);
    }

    /** Returns whether arrays of this precision take half the bytes of FP32. */
    public boolean isHalf() {
        return dataType != null && dataType != DataType.FLOAT;
    }
}
