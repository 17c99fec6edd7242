/** ONNX Runtime's side of the benchmark, in inference, through its Java interface. */
package org.dl4jamp.benchmarks.onnxruntime;
