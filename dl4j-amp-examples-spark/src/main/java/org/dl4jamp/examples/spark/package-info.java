/**
 * {@code amp spark}: the digits on a Spark cluster that the command starts on loopback, or on a user's own, and a model
 * of what a cluster gains.
 */
package org.dl4jamp.examples.spark;
