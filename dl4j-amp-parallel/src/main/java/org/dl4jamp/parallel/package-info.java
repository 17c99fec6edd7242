/**
 * Mixed precision in every replica of DL4J's {@link org.deeplearning4j.parallelism.ParallelWrapper}: several copies of one network in one process. The door is {@link
 * org.dl4jamp.parallel.AmpReplicas}.
 */
package org.dl4jamp.parallel;
