/**
 * Runs the same batches through a network in FP32 and in mixed precision, compares the numbers, and looks for the layer
 * and the setting that a difference comes from.
 */
package org.dl4jamp.inspect.compare;
