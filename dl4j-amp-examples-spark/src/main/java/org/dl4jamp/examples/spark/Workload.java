package org.dl4jamp.examples.spark;

/**
 * A case of the benchmark, as docs/benchmarks.md has it for two cores with native BFLOAT16.
 *
 * <p>Updater state is two values for each parameter with Adam, one with momentum.
 */
enum Workload {
    /** Dense layers 1024-4096-4096-1000, batch 256, Adam. */
    MLP(25_076_712, 2, 557.14, 226.70, 147.65),
    /** Two LSTM layers of 512, 64 steps, batch 32, Adam. */
    LSTM(3_395_680, 2, 1653.92, 259.02, 145.22),
    /** ResNet-50, batch 8, Nesterov momentum. */
    RESNET50(25_636_712, 1, 4526.18, 437.04, 229.69);

    private final long parameters;
    private final int updaterValues;
    private final double dl4jMillis;
    private final double floatMillis;
    private final double halfMillis;

    Workload(long parameters, int updaterValues, double dl4jMillis, double floatMillis, double halfMillis) {
        this.parameters = parameters;
        this.updaterValues = updaterValues;
        this.dl4jMillis = dl4jMillis;
        this.floatMillis = floatMillis;
        this.halfMillis = halfMillis;
    }

    long stateBytes() {
        return parameters * Float.BYTES * (1 + updaterValues);
    }

    /** Returns the time of a step in stock DL4J. */
    double dl4jSeconds() {
        return dl4jMillis / 1000;
    }

    /** Returns the time of a step in FP32 on the oneDNN engine. */
    double floatSeconds() {
        return floatMillis / 1000;
    }

    /** Returns the time of a step in BFLOAT16 on the oneDNN engine. */
    double halfSeconds() {
        return halfMillis / 1000;
    }
}
