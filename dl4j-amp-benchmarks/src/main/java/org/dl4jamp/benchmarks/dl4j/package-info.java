/** DL4J's own sides and ours, and blueprints read off DL4J's networks. */
package org.dl4jamp.benchmarks.dl4j;
