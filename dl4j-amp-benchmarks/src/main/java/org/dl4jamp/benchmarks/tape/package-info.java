/**
 * The tape of oneDNN primitives that the floor runs, with the data between them: activations, their gradients and the
 * memory of both.
 */
package org.dl4jamp.benchmarks.tape;
