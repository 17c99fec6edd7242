/** The command {@code amp bench}: the same training on all sides, each in its own process, in turn. */
package org.dl4jamp.benchmarks;
