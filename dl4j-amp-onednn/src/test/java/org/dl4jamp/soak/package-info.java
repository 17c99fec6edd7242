/**
 * Native memory over a long time, in place of the tests, with {@code -Psoak}: of a network that is given many lengths
 * of sequences, of many networks in one JVM, and of networks that are enabled, trained, saved, restored, closed and
 * dropped at random. {@link org.dl4jamp.soak.ProcessMemory} measures it.
 */
package org.dl4jamp.soak;
