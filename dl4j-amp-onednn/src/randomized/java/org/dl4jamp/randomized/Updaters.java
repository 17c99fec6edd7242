package org.dl4jamp.randomized;

import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.AdaDelta;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.AdaMax;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nadam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.NoOp;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.schedule.ExponentialSchedule;
import org.nd4j.linalg.schedule.ISchedule;
import org.nd4j.linalg.schedule.InverseSchedule;
import org.nd4j.linalg.schedule.ScheduleType;
import org.nd4j.linalg.schedule.StepSchedule;

/** DL4J's updaters but AdaBelief, which throws in stock DL4J. */
enum Updaters {
    SGD,
    NESTEROVS,
    ADAM,
    ADA_MAX,
    NADAM,
    AMS_GRAD,
    ADA_GRAD,
    ADA_DELTA,
    RMS_PROP,
    NO_OP;

    /** Large enough that a gradient that's nothing but rounding makes no step. */
    private static final double EPSILON = 0.05;

    IUpdater make(Draw draw, boolean scheduled) {
        double rate = draw.real(0.02, 0.1);
        IUpdater updater =
                switch (this) {
                    case SGD -> new Sgd(rate);
                    case NESTEROVS -> new Nesterovs(rate, draw.real(0.5, 0.9));
                    case ADAM -> new Adam(rate, draw.real(0.5, 0.9), draw.real(0.9, 0.99), EPSILON);
                    case ADA_MAX -> new AdaMax(rate, draw.real(0.5, 0.9), draw.real(0.9, 0.99), EPSILON);
                    case NADAM -> new Nadam(rate, draw.real(0.5, 0.9), draw.real(0.9, 0.99), EPSILON);
                    case AMS_GRAD -> new AMSGrad(rate, draw.real(0.5, 0.9), draw.real(0.9, 0.99), EPSILON);
                    case ADA_GRAD -> new AdaGrad(rate, EPSILON);
                    case ADA_DELTA ->
                        AdaDelta.builder()
                                .rho(draw.real(0.8, 0.95))
                                .epsilon(EPSILON)
                                .build();
                    case RMS_PROP -> new RmsProp(rate, draw.real(0.8, 0.95), EPSILON);
                    case NO_OP -> new NoOp();
                };
        // AdaGrad's schedule is lost on the way through DL4J's JSON, and its rate is NaN then.
        if (scheduled && updater.hasLearningRate() && this != ADA_GRAD) {
            updater.setLrAndSchedule(Double.NaN, schedule(draw, rate));
        }
        return updater;
    }

    private static ISchedule schedule(Draw draw, double rate) {
        ScheduleType type = draw.of(ScheduleType.ITERATION, ScheduleType.ITERATION, ScheduleType.EPOCH);
        return switch (draw.between(0, 2)) {
            case 0 -> new ExponentialSchedule(type, rate, 0.8);
            case 1 -> new StepSchedule(type, rate, 0.5, 2);
            default -> new InverseSchedule(type, rate, 0.2, 1);
        };
    }
}
