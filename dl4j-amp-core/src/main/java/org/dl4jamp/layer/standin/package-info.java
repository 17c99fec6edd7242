/**
 * What a network hands out in place of a wrapper: objects of the class that the wrapped layer or vertex has, so that
 * programs may cast them and ask {@code instanceof} as ever. Their classes are made at run time, one per class of
 * layer, and hold no computing: they pass every call on. Begin with {@link org.dl4jamp.layer.standin.StandIns}.
 *
 * <p>Internal: public only for other packages of this project and for the classes made at run time, and it may change
 * with any version.
 */
package org.dl4jamp.layer.standin;
