/**
 * Terms that every package uses: precisions, opt levels, kinds of layers, and the one exception.
 *
 * <p>{@code LayerFamily} and {@code SensitiveActivation} are internal: they are public only for other packages of this
 * project, and may change with any version.
 */
package org.dl4jamp.precision;
