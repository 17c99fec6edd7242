package org.dl4jamp.benchmarks.pytorch;

import java.util.Arrays;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.MemoryFormat;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** PyTorch tensors of a blueprint's numbers. */
final class Tensors {
    private Tensors() {}

    /** Returns a copy, with images (and weights of their convolutions) in channels-last order. */
    static Tensor copy(org.dl4jamp.benchmarks.blueprint.Tensor numbers) {
        Tensor plain = torch.empty(numbers.shape(), new TensorOptions(ScalarType.Float), null);
        new FloatPointer(plain.data_ptr()).put(numbers.values());
        return numbers.shape().length == 4 ? plain.contiguous(MemoryFormat.ChannelsLast) : plain;
    }

    /** Returns classes as integers, one after the other. */
    static Tensor classes(org.dl4jamp.benchmarks.blueprint.Tensor numbers) {
        return torch.tensor(numbers.values()).to(ScalarType.Long);
    }

    /** Zeros of the same shape and order in memory. */
    static Tensor zerosLike(Tensor tensor) {
        return torch.zeros_like(tensor);
    }

    static Tensor zeros(long... shape) {
        return torch.zeros(shape);
    }

    static Tensor ones(long length) {
        float[] numbers = new float[Math.toIntExact(length)];
        Arrays.fill(numbers, 1);
        return torch.tensor(numbers);
    }
}
