package org.dl4jamp.benchmarks.dl4j;

import org.dl4jamp.benchmarks.blueprint.Updater;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nesterovs;

/** The updaters of DL4J's layers. */
final class Updaters {
    private Updaters() {}

    /** @throws IllegalArgumentException if a blueprint can't have it */
    static Updater of(IUpdater updater) {
        if (updater instanceof Adam adam) {
            return new Updater.Adam(adam.getLearningRate(), adam.getBeta1(), adam.getBeta2(), adam.getEpsilon());
        }
        if (updater instanceof Nesterovs nesterovs) {
            return new Updater.Nesterov(nesterovs.getLearningRate(), nesterovs.getMomentum());
        }
        throw new IllegalArgumentException("a blueprint can't have the updater " + updater);
    }
}
