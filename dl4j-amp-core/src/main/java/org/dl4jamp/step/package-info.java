/**
 * What happens between backward pass and update: is everything finite, does the step count, what becomes of the loss scale.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.step;
