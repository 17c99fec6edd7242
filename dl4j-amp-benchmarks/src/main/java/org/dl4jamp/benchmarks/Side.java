package org.dl4jamp.benchmarks;

import java.util.Arrays;
import java.util.List;

/** Who trains. */
enum Side {
    DL4J_FP32("dl4j-fp32", "stock DL4J"),
    DL4J_HELPERS_FP32("dl4j-helpers-fp32", "DL4J with its own oneDNN helpers"),
    AMP_FP32("amp-fp32", "dl4j-amp, engine onednn, FLOAT"),
    AMP_BF16("amp-bf16", "dl4j-amp, engine onednn, BFLOAT16"),
    PYTORCH_FP32("pytorch-fp32", "PyTorch"),
    PYTORCH_BF16("pytorch-bf16", "PyTorch, bf16 autocast"),
    FLOOR_FP32("floor-fp32", "oneDNN primitives alone, FP32, no updater"),
    FLOOR_BF16("floor-bf16", "oneDNN primitives alone, BFLOAT16, no updater");

    private final String key;
    private final String description;

    Side(String key, String description) {
        this.key = key;
        this.description = description;
    }

    /** Its name on the command line and in JSON. */
    String key() {
        return key;
    }

    String description() {
        return description;
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
