package org.dl4jamp.benchmarks.side;

/** Names of what the process of a side records in its measured steps. */
public enum Records {
    /** Their time alone. */
    NOTHING,
    /** The work of which they consist, as this project's and DL4J's code reports it. */
    WORK,
    /** The kernels that compute in them, as the native libraries report them. */
    KERNELS
}
