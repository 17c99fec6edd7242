/** The cases: networks as DL4J's users write them, each with a batch. */
package org.dl4jamp.benchmarks.cases;
