/** The commands that show what dl4j-amp does on a machine and in a network. */
package org.dl4jamp.examples.inspect;
