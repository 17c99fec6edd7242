package org.nd4j.nativeblas;

/**
 * A delegate for the side dl4j-helpers-fp32. Before DL4J 1.0.0-M2.1 uses its oneDNN helpers, it calls a class of this
 * name, which returns whether ND4J was built with oneDNN. ND4J has moved that class to another package, so that this
 * release's helpers are always off. This class delegates to the moved one.
 */
public final class Nd4jCpu {
    private Nd4jCpu() {}

    /** The class that DL4J calls, by reflection. */
    public static final class Environment {
        private static final Environment INSTANCE = new Environment();

        private Environment() {}

        /** Returns the one instance. */
        public static Environment getInstance() {
            return INSTANCE;
        }

        /** Returns whether ND4J was built with oneDNN and uses it. */
        public boolean isUseMKLDNN() {
            return org.nd4j.linalg.cpu.nativecpu.bindings.Nd4jCpu.Environment.getInstance()
                    .isUseONEDNN();
        }
    }
}
