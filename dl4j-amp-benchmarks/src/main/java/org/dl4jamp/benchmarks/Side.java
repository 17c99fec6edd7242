package org.dl4jamp.benchmarks;

import java.util.Arrays;
import java.util.List;

/** Who trains. */
enum Side {
    /** Stock DL4J. */
    DL4J_FP32("dl4j-fp32"),
    /** DL4J with its own oneDNN helpers. */
    DL4J_HELPERS_FP32("dl4j-helpers-fp32"),
    /** This project's engine onednn in FLOAT. */
    AMP_FP32("amp-fp32"),
    /** This project's engine onednn in BFLOAT16. */
    AMP_BF16("amp-bf16"),
    /** PyTorch. */
    PYTORCH_FP32("pytorch-fp32"),
    /** PyTorch under bf16 autocast. */
    PYTORCH_BF16("pytorch-bf16"),
    /** The oneDNN primitives of a step alone, in FP32. */
    FLOOR_FP32("floor-fp32"),
    /** The oneDNN primitives of a step alone, in BFLOAT16. */
    FLOOR_BF16("floor-bf16");

    private final String key;

    Side(String key) {
        this.key = key;
    }

    /** Its name on the command line and in JSON. */
    String key() {
        return key;
    }

    boolean isPyTorch() {
        return this == PYTORCH_FP32 || this == PYTORCH_BF16;
    }

    /** Whether it can say where its time goes. */
    boolean hasProfile() {
        return !isPyTorch() && !isFloor();
    }

    /** Whether its weights stay as they are. */
    boolean isFloor() {
        return this == FLOOR_FP32 || this == FLOOR_BF16;
    }

    /** What it could at best be as fast as. */
    Side floor() {
        return this == AMP_BF16 || this == PYTORCH_BF16 || this == FLOOR_BF16 ? FLOOR_BF16 : FLOOR_FP32;
    }

    static List<String> keys() {
        return Arrays.stream(values()).map(Side::key).toList();
    }

    /**
     * The side of that key.
     *
     * @throws IllegalArgumentException if there is none; the message lists those that there are
     */
    static Side named(String key) {
        return Arrays.stream(values())
                .filter(side -> side.key.equals(key))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "there is no side " + key + ": it has to be one of " + String.join(", ", keys())));
    }
}
