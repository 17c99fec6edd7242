/**
 * The training step between backward pass and update. It starts from FP32 gradients without the loss scale, in a
 * network's view. It ends with a skipped step or updated parameters, and with an update of the loss scaler. Begin with
 * {@link org.dl4jamp.step.TrainingStep}, which decides whether a step counts. {@link org.dl4jamp.step.AmpUpdate} then
 * replaces the update of DL4J's updater, and {@link org.dl4jamp.step.StepPlan} divides it into passes.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.step;
