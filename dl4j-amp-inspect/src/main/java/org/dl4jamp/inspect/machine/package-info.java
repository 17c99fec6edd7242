/**
 * A machine as training sees it: processors and memory, GPUs, settings, ND4J, the engines, and the choice of
 * {@link org.dl4jamp.precision.Precision#AUTO}.
 */
package org.dl4jamp.inspect.machine;
