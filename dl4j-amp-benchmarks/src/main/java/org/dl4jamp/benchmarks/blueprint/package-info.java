/**
 * A network, its loss, its updater, its initial weights and its batch, described without any framework: the source of
 * all sides of the benchmark, so that they train the same.
 */
package org.dl4jamp.benchmarks.blueprint;
