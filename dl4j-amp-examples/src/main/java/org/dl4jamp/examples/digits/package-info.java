/**
 * {@code amp digits}: two small networks learn to read handwritten digits.
 */
package org.dl4jamp.examples.digits;
