package org.dl4jamp.benchmarks.blueprint;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Tensors by name: initial weights and a batch.
 *
 * <p>In a file: the number of tensors, then of each its name, its rank, its shape and its numbers, all as
 * {@link DataOutputStream} writes them (big-endian). Numbers are read at each call and not kept, so that a side's
 * memory isn't filled with copies of its weights.
 */
public final class Tensors {
    private static final int CHUNK = 1 << 14;

    private final Map<String, Supplier<Tensor>> tensors = new LinkedHashMap<>();

    /** Adds one under a new name. */
    public void put(String name, Tensor tensor) {
        put(name, () -> tensor);
    }

    private void put(String name, Supplier<Tensor> tensor) {
        if (tensors.putIfAbsent(name, tensor) != null) {
            throw new IllegalArgumentException("there are two tensors named " + name);
        }
    }

    /** Returns the tensor of a name, which has to exist. */
    public Tensor get(String name) {
        Supplier<Tensor> found = tensors.get(name);
        if (found == null) {
            throw new IllegalArgumentException("no tensor is named " + name + "; there are " + tensors.keySet());
        }
        return found.get();
    }

    /** Returns an operation's parameter, which has to exist. */
    public Tensor get(Operation operation, Parameter parameter) {
        return get(Blueprint.parameter(operation, parameter));
    }

    /** Writes all of them. */
    public void write(Path file) throws IOException {
        try (OutputStream bytes = new BufferedOutputStream(Files.newOutputStream(file));
                DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(tensors.size());
            for (Map.Entry<String, Supplier<Tensor>> entry : tensors.entrySet()) {
                Tensor tensor = entry.getValue().get();
                out.writeUTF(entry.getKey());
                long[] shape = tensor.shape();
                out.writeInt(shape.length);
                for (long size : shape) {
                    out.writeLong(size);
                }
                float[] values = tensor.values();
                ByteBuffer chunk = ByteBuffer.allocate(CHUNK * Float.BYTES);
                for (int from = 0; from < values.length; from += CHUNK) {
                    int length = Math.min(CHUNK, values.length - from);
                    chunk.asFloatBuffer().put(values, from, length);
                    out.write(chunk.array(), 0, length * Float.BYTES);
                }
            }
        }
    }

    /** Returns those of a file that {@link #write} wrote. The file has to stay as long as they are read. */
    public static Tensors read(Path file) throws IOException {
        Tensors read = new Tensors();
        try (RandomAccessFile in = new RandomAccessFile(file.toFile(), "r")) {
            int count = in.readInt();
            for (int i = 0; i < count; i++) {
                String name = in.readUTF();
                long[] shape = new long[in.readInt()];
                for (int axis = 0; axis < shape.length; axis++) {
                    shape[axis] = in.readLong();
                }
                long at = in.getFilePointer();
                int length = Math.toIntExact(Arrays.stream(shape).reduce(1, Math::multiplyExact));
                read.put(name, () -> new Tensor(shape, values(file, at, length)));
                in.seek(at + (long) length * Float.BYTES);
            }
        }
        return read;
    }

    private static float[] values(Path file, long at, int length) {
        try (RandomAccessFile in = new RandomAccessFile(file.toFile(), "r")) {
            in.seek(at);
            float[] values = new float[length];
            ByteBuffer chunk = ByteBuffer.allocate(CHUNK * Float.BYTES);
            for (int from = 0; from < length; from += CHUNK) {
                int count = Math.min(CHUNK, length - from);
                in.readFully(chunk.array(), 0, count * Float.BYTES);
                chunk.asFloatBuffer().get(values, from, count);
            }
            return values;
        } catch (IOException e) {
            throw new UncheckedIOException(file + " can't be read any more", e);
        }
    }
}
