/**
 * The floor: the oneDNN primitives that a training step consists of, forward and backward, and nothing else. No
 * updater, no casts of weights, no framework.
 */
package org.dl4jamp.benchmarks.floor;
