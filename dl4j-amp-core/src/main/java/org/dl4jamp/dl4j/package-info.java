/**
 * All that another release of DL4J may break, each thing in a class of its own with a test of its own:
 *
 * <ul>
 *   <li>methods and classes that are looked for on the stack,
 *   <li>private fields of DL4J,
 *   <li>classes of DL4J that are extended, or used, for what they weren't made for.
 * </ul>
 *
 * <p>One thing is elsewhere: the constraint of a layer that carries settings, in {@code config.CarriedConfig}.
 *
 * <p>Nothing here depends on its callers. Begin with {@link org.dl4jamp.dl4j.NetworkCall}.
 *
 * <p>Internal: it may change with any version.
 */
package org.dl4jamp.dl4j;
