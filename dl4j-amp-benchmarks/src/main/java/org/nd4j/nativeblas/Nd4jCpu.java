package org.nd4j.nativeblas;

/**
 * DL4J 1.0.0-M2.1 asks a class of this name whether ND4J was built with oneDNN before it uses its oneDNN helpers. ND4J
 * has moved the class that it means to another package, so that the helpers of this release stay off whatever a user
 * does. This class passes the question on, for the side dl4j-helpers-fp32.
 */
public final class Nd4jCpu {
    private Nd4jCpu() {}

    /** What DL4J asks, by reflection. */
    public static final class Environment {
        private static final Environment INSTANCE = new Environment();

        private Environment() {}

        /** The one instance. */
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
