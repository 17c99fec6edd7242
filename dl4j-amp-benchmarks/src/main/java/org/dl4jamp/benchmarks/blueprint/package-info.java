/**
 * A network, its loss, its updater, its initial weights and its batch, described without any framework: what all sides
 * of the benchmark are made from, so that they train the same.
 */
package org.dl4jamp.benchmarks.blueprint;
