/**
 * The objects that a network's getters return in place of wrappers. They have the class of the wrapped layer or vertex,
 * so that casts and {@code instanceof} work as ever. Their classes are made at run time, one per class of layer, and
 * hold no computing: they pass every call on. Begin with {@link org.dl4jamp.layer.standin.StandIns}.
 *
 * <p>Internal: public only for other packages of this project and for the classes made at run time, and it may change
 * with any version.
 */
package org.dl4jamp.layer.standin;
