/**
 * Settings of mixed precision, and the JSON in which they are saved. Begin with {@link org.dl4jamp.config.AmpConfig}.
 *
 * <p>{@code AmpConfigJson}, {@code CarriedConfig} and {@code JsonFields} are internal: they are public only for other
 * packages of this project, and may change with any version.
 */
package org.dl4jamp.config;
