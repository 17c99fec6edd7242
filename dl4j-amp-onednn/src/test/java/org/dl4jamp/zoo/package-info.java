/**
 * Networks of others on this engine: those of DL4J's zoo, which {@link org.dl4jamp.zoo.ZooNetwork} lists, and
 * {@link org.dl4jamp.zoo.KerasNetwork}s, which DL4J imported. Their plans are read, and outputs and gradients compared
 * with stock DL4J as {@link org.dl4jamp.zoo.StockAgreement} says.
 */
package org.dl4jamp.zoo;
