/**
 * {@code amp digits} and {@code amp parallel}: small networks learn to read handwritten digits, alone and in several
 * replicas.
 */
package org.dl4jamp.examples.digits;
