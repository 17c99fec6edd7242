/** Stages of a network in inference: what one primitive computes, batch normalization, sums and ReLU included. */
package org.dl4jamp.benchmarks.stage;
