/** {@code amp sine}: a convolutional network learns a quantized two-dimensional sinusoid from coordinates. */
package org.dl4jamp.examples.sine;
