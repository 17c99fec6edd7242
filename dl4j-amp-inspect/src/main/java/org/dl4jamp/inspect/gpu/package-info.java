/** The NVIDIA GPUs of this machine, and which of ND4J's CUDA backends has code for them: read before ND4J is loaded. */
package org.dl4jamp.inspect.gpu;
