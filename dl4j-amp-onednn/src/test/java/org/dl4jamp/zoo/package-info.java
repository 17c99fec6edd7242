/**
 * The networks of DL4J's zoo on this engine: {@link org.dl4jamp.zoo.ZooNetwork} lists them,
 * {@link org.dl4jamp.zoo.ZooPlansTest} reads their plans, {@link org.dl4jamp.zoo.ZooAgreementTest} compares their
 * outputs and gradients with stock DL4J.
 */
package org.dl4jamp.zoo;
