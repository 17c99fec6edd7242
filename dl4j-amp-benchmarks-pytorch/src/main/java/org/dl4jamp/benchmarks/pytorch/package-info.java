/** PyTorch's sides of the benchmark, through its C++ interface, as its users write a training loop. */
package org.dl4jamp.benchmarks.pytorch;
