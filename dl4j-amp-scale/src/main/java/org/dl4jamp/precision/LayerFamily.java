package org.dl4jamp.precision;

/** Layers and vertices that half precision treats alike, and for one reason. */
public enum LayerFamily {
    /**
     * Dense, convolutional, recurrent and attention layers: where the time goes, and what half precision is made for.
     */
    PRODUCTS(LayerKind.LOWER, "sums of products"),
    /** Embeddings: no products, but a large table of which half the bytes have to be read. */
    LOOKUP(LayerKind.LOWER, "reads half the bytes of its table"),
    /** Layers with weights that end in a loss. */
    OUTPUT(LayerKind.FULL, "loss in FP32"),
    /** Losses without weights. */
    LOSS(LayerKind.FULL, "loss in FP32"),
    /** Means and variances over the minibatch, and running statistics that change by little. */
    BATCH_NORM(LayerKind.FULL, "statistics and parameters in FP32"),
    /** Norms and sums of squares over many values: they leave HALF's range, or lose the small summands. */
    STATISTICS(LayerKind.FULL, "sums over many values in FP32"),
    /**
     * Layers that carry a loss of their own for layerwise pretraining, with logarithms and exponentials in it. A rule
     * lowers them in supervised steps; pretraining is FP32 in any case.
     */
    PRETRAINED(LayerKind.FULL, "its own loss for pretraining in FP32"),
    /** SameDiff vertices that DL4J computes: their placeholders have the network's type, so they take nothing else. */
    FIXED_TYPE(LayerKind.FULL, "DL4J computes it in the network's type only"),
    /** Maximum or average of a few neighbours. */
    POOLING(LayerKind.FOLLOW, "follows its input"),
    /** One output value from one value of each input. */
    ELEMENT_WISE(LayerKind.FOLLOW, "follows its input"),
    /** Moves, copies, cuts and pads values without computing with them. */
    SHAPE(LayerKind.FOLLOW, "follows its input"),
    /** Takes the kind of what it wraps. Never the family of a layer, only an entry of the table. */
    WRAPPER(LayerKind.FULL, "wraps a layer that is unknown to dl4j-amp"),
    /** Written by a user: whether it runs in half precision can't be found out. */
    UNKNOWN(LayerKind.FULL, "its class is unknown to dl4j-amp");

    private final LayerKind kind;
    private final String reason;

    LayerFamily(LayerKind kind, String reason) {
        this.kind = kind;
        this.reason = reason;
    }

    public LayerKind kind() {
        return kind;
    }

    public String reason() {
        return reason;
    }
}
