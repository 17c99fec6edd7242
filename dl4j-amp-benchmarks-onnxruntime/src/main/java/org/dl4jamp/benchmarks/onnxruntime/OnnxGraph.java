package org.dl4jamp.benchmarks.onnxruntime;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.dl4jamp.benchmarks.blueprint.Tensor;

/**
 * A model of ONNX that grows node by node. All numbers are FP32. The operators are those of the specification's
 * operator set 17, <a href="https://onnx.ai/onnx/operators/">onnx.ai/onnx/operators</a>.
 */
final class OnnxGraph {
    /** The name of the place of an input that isn't given. */
    static final String ABSENT = "";

    private static final int IR_VERSION = 8;
    private static final int OPERATOR_SET = 17;

    private final GraphProto.Builder graph;

    OnnxGraph(String name) {
        graph = GraphProto.newBuilder().setName(name);
    }

    /** Adds a node with one output, of the node's name, which it returns. */
    String node(String operator, String name, List<String> inputs, AttributeProto... attributes) {
        return node(operator, name, inputs, List.of(name), attributes).get(0);
    }

    /** Adds a node with several outputs, and returns their names. */
    List<String> node(
            String operator, String name, List<String> inputs, List<String> outputs, AttributeProto... attributes) {
        graph.addNode(NodeProto.newBuilder()
                .setOpType(operator)
                .setName(name)
                .addAllInput(inputs)
                .addAllOutput(outputs)
                .addAllAttribute(List.of(attributes)));
        return outputs;
    }

    /** Adds a constant, and returns its name. */
    String constant(String name, Tensor tensor) {
        ByteBuffer bytes =
                ByteBuffer.allocate(tensor.values().length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(tensor.values());
        graph.addInitializer(TensorProto.newBuilder()
                .setName(name)
                .setDataType(TensorProto.DataType.FLOAT.getNumber())
                .addAllDims(LongStream.of(tensor.shape()).boxed().toList())
                .setRawData(ByteString.copyFrom(bytes)));
        return name;
    }

    /** Adds a constant of integers, such as a shape, and returns its name. */
    String constant(String name, long... numbers) {
        graph.addInitializer(TensorProto.newBuilder()
                .setName(name)
                .setDataType(TensorProto.DataType.INT64.getNumber())
                .addDims(numbers.length)
                .addAllInt64Data(Arrays.stream(numbers).boxed().toList()));
        return name;
    }

    /** Declares an input of the model. */
    void input(String name, long... shape) {
        graph.addInput(value(name, shape));
    }

    /** Declares the output of a node as an output of the model. */
    void output(String name, long... shape) {
        graph.addOutput(value(name, shape));
    }

    private static ValueInfoProto value(String name, long... shape) {
        TensorShapeProto.Builder sizes = TensorShapeProto.newBuilder();
        for (long size : shape) {
            sizes.addDim(TensorShapeProto.Dimension.newBuilder().setDimValue(size));
        }
        TypeProto.Tensor.Builder tensor = TypeProto.Tensor.newBuilder()
                .setElemType(TensorProto.DataType.FLOAT.getNumber())
                .setShape(sizes);
        return ValueInfoProto.newBuilder()
                .setName(name)
                .setType(TypeProto.newBuilder().setTensorType(tensor))
                .build();
    }

    static AttributeProto attribute(String name, long number) {
        return attribute(name, AttributeProto.AttributeType.INT).setI(number).build();
    }

    static AttributeProto attribute(String name, float number) {
        return attribute(name, AttributeProto.AttributeType.FLOAT).setF(number).build();
    }

    static AttributeProto attribute(String name, String text) {
        return attribute(name, AttributeProto.AttributeType.STRING)
                .setS(ByteString.copyFromUtf8(text))
                .build();
    }

    static AttributeProto attribute(String name, List<Long> numbers) {
        return attribute(name, AttributeProto.AttributeType.INTS)
                .addAllInts(numbers)
                .build();
    }

    private static AttributeProto.Builder attribute(String name, AttributeProto.AttributeType type) {
        return AttributeProto.newBuilder().setName(name).setType(type);
    }

    /** Returns the model as ONNX Runtime reads it. */
    byte[] bytes() {
        return ModelProto.newBuilder()
                .setIrVersion(IR_VERSION)
                .addOpsetImport(OperatorSetIdProto.newBuilder().setVersion(OPERATOR_SET))
                .setGraph(graph)
                .build()
                .toByteArray();
    }
}
