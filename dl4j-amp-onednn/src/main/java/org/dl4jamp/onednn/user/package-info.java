/**
 * Layers that users bring kernels for: finds the kernels, and runs them as twins. Input and output are contiguous
 * arrays. Begin with {@link org.dl4jamp.onednn.user.UserTwin}.
 */
package org.dl4jamp.onednn.user;
