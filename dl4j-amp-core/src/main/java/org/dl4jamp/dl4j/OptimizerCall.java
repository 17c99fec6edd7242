package org.dl4jamp.dl4j;

import java.util.List;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.deeplearning4j.optimize.solvers.StochasticGradientDescent;

/** Tells whether DL4J's optimizer has called an updater, by walking the stack: the updater gets no argument for it. */
public final class OptimizerCall {
    private static final StackWalker STACK = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    private OptimizerCall() {}

    /**
     * Returns whether the updater that runs was called by the optimizer itself, which has just computed the loss and
     * waits for the updates to subtract them. A listener, for one, may call any updater while an optimizer is at work.
     */
    public static boolean isInProgress() {
        return STACK.walk(frames -> frames.map(StackWalker.StackFrame::getDeclaringClass)
                .dropWhile(caller -> !BaseMultiLayerUpdater.class.isAssignableFrom(caller))
                .dropWhile(BaseMultiLayerUpdater.class::isAssignableFrom)
                .limit(3)
                .toList()
                .equals(List.of(BaseOptimizer.class, BaseOptimizer.class, StochasticGradientDescent.class)));
    }
}
