/** Batches to compare with: random ones, and those of a file. */
package org.dl4jamp.inspect.compare.data;
