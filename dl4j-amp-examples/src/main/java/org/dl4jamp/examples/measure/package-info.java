/** Time and memory of a training. */
package org.dl4jamp.examples.measure;
