/**
 * What stands in a network in place of its own layers while mixed precision is enabled: wrappers that look to DL4J like the layer they stand
 * for, hand its FP32 parameters to everyone who asks (they are the master weights), and let a twin do the computing.
 *
 * <p>Internal, but for those who write an engine: they make {@link org.dl4jamp.layer.Twin}s.
 */
package org.dl4jamp.layer;
