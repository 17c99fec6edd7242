package org.dl4jamp.benchmarks.kernels;

/**
 * Names of kernels by what they compute, the same for all libraries. A dense layer and a window of one position are the
 * same product. Positions are those of all examples.
 */
public final class KernelNames {
    /** Means and maxima of windows. */
    public static final String POOLING = "pooling";

    public static final String SOFTMAX = "softmax";
    public static final String NORMALIZATION = "normalization";

    /** Layers that loop over time steps. */
    public static final String RECURRENT = "recurrent layers";

    /** Functions of single numbers. */
    public static final String ACTIVATION = "activation functions";

    /** Sums and products of numbers at the same place. */
    public static final String BINARY = "operations of two arrays";

    /** Other types, orders or shapes of the same numbers. */
    public static final String COPIES = "copies";

    private KernelNames() {}

    /**
     * Returns the name of a convolution or product.
     *
     * @param window its sizes, such as {@code 3×3}
     * @param groups of channels that are computed apart
     * @param positions of all examples in the output
     */
    public static String product(String window, long channels, long units, long groups, long positions) {
        return window + ", " + channels + "→" + units + (groups == 1 ? "" : " in " + groups + " groups") + ", "
                + positions + (positions == 1 ? " position" : " positions");
    }

    /** Returns the name of the product of matrices, for each of some rows. */
    public static String product(long columns, long units, long rows) {
        return product("1×1", columns, units, 1, rows);
    }
}
