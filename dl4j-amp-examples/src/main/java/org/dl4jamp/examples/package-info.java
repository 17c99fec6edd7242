/** The command line {@code amp}: readable experiments that train the same network in FP32 and in mixed precision. */
package org.dl4jamp.examples;
