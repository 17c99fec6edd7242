/**
 * Keeping mixed precision beside a model: {@link org.dl4jamp.config.CarriedConfig} carries the settings inside a DL4J
 * configuration, and {@link org.dl4jamp.AmpModelSerializer} saves and restores networks with everything that mixed
 * precision needs to go on. Whatever is written here is an ordinary DL4J configuration or model zip to plain DL4J.
 */
package org.dl4jamp.checkpoint;
