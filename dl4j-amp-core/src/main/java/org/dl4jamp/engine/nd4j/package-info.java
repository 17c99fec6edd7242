/**
 * The portable engine, which runs wherever ND4J runs. Its twins keep activations and weights in half precision, sum
 * products in FP32 and round once. ND4J's own half product sums in half precision on CUDA, and is hundreds of times
 * slower than FP32 on the CPU.
 */
package org.dl4jamp.engine.nd4j;
