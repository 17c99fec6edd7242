/**
 * {@code amp example}: each feature of mixed precision in a class that is short enough to read, with figures that show
 * whether it has worked.
 */
package org.dl4jamp.examples.feature;
