/** The time of each kernel of a step or pass: what native libraries report of them, and the table beside each other. */
package org.dl4jamp.benchmarks.kernels;
