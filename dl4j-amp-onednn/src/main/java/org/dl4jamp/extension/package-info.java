/**
 * Kernels of users' own for the engine {@code onednn}: implement {@link org.dl4jamp.extension.LayerKernel} for a class
 * of layers, and name the implementation in {@code META-INF/services/org.dl4jamp.extension.LayerKernel}.
 */
package org.dl4jamp.extension;
