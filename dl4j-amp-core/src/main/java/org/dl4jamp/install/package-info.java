/**
 * Wrappers are put into a network here, for training and for inference mode, and taken out again.
 *
 * <p>{@code Installation} follows a plan of package {@code policy}. It is an {@code EnabledNetwork} for training or an
 * {@code InferenceInstallation}. {@code ResolvedConfig} resolves the settings for one network beforehand. All of it is
 * internal.
 */
package org.dl4jamp.install;
