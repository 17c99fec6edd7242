/**
 * Layers of SameDiff operations: SameDiff runs the graph that the layer defines, and oneDNN makes its products of
 * matrices. Input and output are FP32. Begin with {@link org.dl4jamp.onednn.samediff.SameDiffTwin}.
 */
package org.dl4jamp.onednn.samediff;
