package org.dl4jamp.examples.feature;

import java.util.List;
import java.util.Optional;

/**
 * All examples. A new one is a line here.
 *
 * @param name what it's called on the command line
 * @param what it shows, in a line
 * @param example shows it
 */
record Examples(String name, String what, Example example) {
    static final List<Examples> ALL = List.of(
            new Examples("one-line", "mixed precision by one line of a program", new OneLine()),
            new Examples(
                    "accumulation", "four batches make one step of a batch four times as large", new Accumulation()),
            new Examples("clipping", "the norm of true gradients is limited, and can be read", new Clipping()),
            new Examples("gradient-penalty", "steep losses cost: a penalty on the gradient's norm", new Penalty()),
            new Examples("gan", "two networks that feed one another gradients", new Gan()),
            new Examples(
                    "shared-scale", "two networks with one loss scale, updated once per iteration", new SharedScale()),
            new Examples("several-losses", "a graph with two outputs and a loss each", new SeveralLosses()),
            new Examples("pause", "evaluation and some steps in FP32, in the middle of training", new Pausing()),
            new Examples("inference", "weights rounded once, batch normalization folded", new Inference()),
            new Examples("resume", "saved in the middle and resumed bit for bit", new Resume()),
            new Examples("early-stopping", "DL4J's early stopping trainer and its best model", new EarlyStopping()),
            new Examples("transfer-learning", "frozen layers of a trained network, and a new output", new Transfer()),
            new Examples(
                    "truncated-bptt", "a recurrent network, segment by segment and step by step", new TruncatedBptt()),
            new Examples("attention", "a sequence that only attention answers, in FP32 beside it", new Attention()),
            new Examples(
                    "scaler-by-hand",
                    "a loss scale that is too large at first, and one that is set",
                    new ScalerByHand()));

    static Optional<Examples> of(String name) {
        return ALL.stream().filter(each -> each.name.equals(name)).findFirst();
    }
}
