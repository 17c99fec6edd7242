/**
 * Many machines: mixed precision in every task of DL4J's training on Spark. {@link org.dl4jamp.spark.SparkAmp} is the
 * door.
 */
package org.dl4jamp.spark;
