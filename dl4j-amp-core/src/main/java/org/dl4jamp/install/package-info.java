/**
 * Wrappers are put into a network here, for training and for inference mode, and taken out again.
 *
 * <p>{@code EnabledNetwork} holds all that training with mixed precision consists of. {@code Installation} and
 * {@code InferenceInstallation} each follow a plan of package {@code policy}. {@code ResolvedConfig} resolves the
 * settings for one network beforehand. All of it is internal.
 */
package org.dl4jamp.install;
