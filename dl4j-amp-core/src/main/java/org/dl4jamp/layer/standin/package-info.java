/**
 * What a network hands out in place of a wrapper: objects of the class that the wrapped layer or vertex has, so that programs may cast them and ask
 * {@code instanceof} as ever. Their classes are made at run time, one per class of layer, and hold no computing: they pass every call on.
 */
package org.dl4jamp.layer.standin;
