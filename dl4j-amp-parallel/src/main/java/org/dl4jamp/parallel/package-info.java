/**
 * Mixed precision in every replica of DL4J's {@link org.deeplearning4j.parallelism.ParallelWrapper} and
 * {@link org.deeplearning4j.parallelism.ParallelInference}: several copies of one network in one process. The doors are
 * {@link org.dl4jamp.parallel.AmpReplicas} and {@link org.dl4jamp.parallel.AmpInference}.
 */
package org.dl4jamp.parallel;
