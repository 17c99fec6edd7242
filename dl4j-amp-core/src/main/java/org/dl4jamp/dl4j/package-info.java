/**
 * What another release of DL4J may break, each thing in a class of its own with a test of its own: methods and classes
 * that are looked for on the stack, fields that DL4J keeps to itself, and classes of DL4J's that are extended, or used,
 * for what they weren't made for. Everybody above asks here; nothing here knows what it's asked for. Begin with
 * {@link org.dl4jamp.dl4j.OptimizerCall}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.dl4j;
