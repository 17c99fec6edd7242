/**
 * What happens between backward pass and update. In come FP32 gradients without the loss scale, in a network's view;
 * out go a skipped step or moved parameters, and word to the loss scaler of what it was. Begin with
 * {@link org.dl4jamp.step.TrainingStep}, which decides whether a step counts; {@link org.dl4jamp.step.AmpUpdate} is
 * what DL4J's updater does then, and {@link org.dl4jamp.step.StepPlan} in which passes.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.step;
