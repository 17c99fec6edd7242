package org.dl4jamp.benchmarks.process;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.dl4jamp.benchmarks.side.Task;

/** The frameworks and precisions that are compared. */
public enum Side {
    /** Stock DL4J. */
    DL4J_FP32("dl4j-fp32"),
    /** DL4J with its own oneDNN helpers. */
    DL4J_HELPERS_FP32("dl4j-helpers-fp32"),
    /** This project with the precision and the engine that AUTO stands for. */
    AMP_AUTO("amp-auto"),
    /** This project's engine onednn in FLOAT. */
    AMP_FP32("amp-fp32"),
    /** This project's engine onednn in BFLOAT16. */
    AMP_BF16("amp-bf16"),
    /** AMP_FP32 by InferenceMode's own method in place of the network's, for inference only. */
    AMP_FP32_DIRECT("amp-fp32-direct"),
    /** AMP_BF16 by that method. */
    AMP_BF16_DIRECT("amp-bf16-direct"),
    /** AMP_FP32 with listeners that look for skipped steps, and every ten steps at the numbers of all layers. */
    AMP_FP32_WATCHED("amp-fp32-watched"),
    /** AMP_BF16 with those listeners. */
    AMP_BF16_WATCHED("amp-bf16-watched"),
    /** PyTorch. */
    PYTORCH_FP32("pytorch-fp32"),
    /** PyTorch under bf16 autocast. */
    PYTORCH_BF16("pytorch-bf16"),
    /** PyTorch under bf16 autocast with weights that are BFLOAT16, for inference only: there are no master weights. */
    PYTORCH_BF16_WEIGHTS("pytorch-bf16-weights"),
    /** ONNX Runtime, which has no BFLOAT16 on CPUs, for inference only. */
    ONNX_RUNTIME_FP32("onnxruntime-fp32"),
    /** The oneDNN primitives of a step or pass alone, in FP32. */
    FLOOR_FP32("floor-fp32"),
    /** The oneDNN primitives of a step or pass alone, in BFLOAT16. */
    FLOOR_BF16("floor-bf16");

    private final String key;

    Side(String key) {
        this.key = key;
    }

    /** Returns its name on the command line and in JSON. */
    public String key() {
        return key;
    }

    public boolean isPyTorch() {
        return this == PYTORCH_FP32 || this == PYTORCH_BF16 || this == PYTORCH_BF16_WEIGHTS;
    }

    /** Returns whether it is another framework, which takes the network as a blueprint. */
    public boolean isForeign() {
        return isPyTorch() || this == ONNX_RUNTIME_FP32;
    }

    /** Returns whether it can record where its time goes. */
    public boolean hasProfile() {
        return !isForeign() && !isFloor();
    }

    /** Returns whether the libraries that compute for it tell the time of each kernel. */
    public boolean hasKernels() {
        return !isPyTorch() && this != DL4J_FP32 && this != DL4J_HELPERS_FP32;
    }

    /** Returns whether its weights stay as they are. */
    public boolean isFloor() {
        return this == FLOOR_FP32 || this == FLOOR_BF16;
    }

    /** Returns its lower bound in time; empty for the side that may compute in either precision. */
    public Optional<Side> floor() {
        return switch (this) {
            case AMP_AUTO -> Optional.empty();
            case AMP_BF16, AMP_BF16_DIRECT, AMP_BF16_WATCHED, PYTORCH_BF16, PYTORCH_BF16_WEIGHTS, FLOOR_BF16 ->
                Optional.of(FLOOR_BF16);
            case DL4J_FP32,
                    DL4J_HELPERS_FP32,
                    AMP_FP32,
                    AMP_FP32_DIRECT,
                    AMP_FP32_WATCHED,
                    PYTORCH_FP32,
                    ONNX_RUNTIME_FP32,
                    FLOOR_FP32 -> Optional.of(FLOOR_FP32);
        };
    }

    /** Returns all sides for a task. */
    public static List<Side> of(Task task) {
        return Arrays.stream(values()).filter(side -> side.does(task)).toList();
    }

    /** Returns the sides that are measured for a task unless others are asked for. */
    public static List<Side> usual(Task task) {
        return of(task).stream()
                .filter(side -> !side.isWatched() && !side.isDirect())
                .toList();
    }

    /** Returns whether it's called by InferenceMode's own method. */
    private boolean isDirect() {
        return this == AMP_FP32_DIRECT || this == AMP_BF16_DIRECT;
    }

    /** Returns whether it has listeners that look at each layer. */
    public boolean isWatched() {
        return this == AMP_FP32_WATCHED || this == AMP_BF16_WATCHED;
    }

    /** Returns whether its layers compute in BFLOAT16 in this JVM. */
    public boolean needsBfloat16() {
        return this == AMP_BF16 || this == AMP_BF16_DIRECT || this == AMP_BF16_WATCHED || this == FLOOR_BF16;
    }

    private boolean does(Task task) {
        if (isDirect()) {
            return task.isInference();
        }
        return task.isInference() ? !isWatched() : this != PYTORCH_BF16_WEIGHTS && this != ONNX_RUNTIME_FP32;
    }

    /**
     * Returns the side of a key.
     *
     * @throws IllegalArgumentException if there is none
     */
    public static Side named(String key) {
        return named(key, List.of(values()), "");
    }

    /**
     * Returns the side of a key for a task.
     *
     * @throws IllegalArgumentException if there is none; the message lists those that there are
     */
    public static Side named(String key, Task task) {
        return named(key, of(task), task.isInference() ? " for inference" : " for training");
    }

    private static Side named(String key, List<Side> sides, String purpose) {
        return sides.stream()
                .filter(side -> side.key.equals(key))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("there is no side " + key + purpose
                        + ": it has to be one of "
                        + sides.stream().map(Side::key).collect(Collectors.joining(", "))));
    }
}
