/** Compares the numbers of arrays, and counts their magnitudes. */
package org.dl4jamp.inspect.compare.numbers;
