package org.dl4jamp.ui.record;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Encodings of values in a record. A length is checked against the bytes that are left before any memory is taken. */
final class Values {
    /** Writes a value. */
    interface Writer<T> {
        void write(DataOutputStream out, T value) throws IOException;
    }

    /** Reads a value. */
    interface Reader<T> {
        T read(DataInputStream in) throws IOException;
    }

    private Values() {}

    static void writeText(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    static String readText(DataInputStream in) throws IOException {
        return new String(readBytes(in), StandardCharsets.UTF_8);
    }

    static byte[] readBytes(DataInputStream in) throws IOException {
        byte[] bytes = new byte[readLength(in)];
        in.readFully(bytes);
        return bytes;
    }

    private static int readLength(DataInputStream in) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > in.available()) {
            throw new IOException("a length of " + length + " where " + in.available() + " bytes are left");
        }
        return length;
    }

    static <T> void writeList(DataOutputStream out, List<T> list, Writer<T> writer) throws IOException {
        out.writeInt(list.size());
        for (T element : list) {
            writer.write(out, element);
        }
    }

    /** Reads a list, each of whose elements takes at least a byte. */
    static <T> List<T> readList(DataInputStream in, Reader<T> reader) throws IOException {
        int length = readLength(in);
        List<T> list = new ArrayList<>();
        for (int i = 0; i < length; i++) {
            list.add(reader.read(in));
        }
        return List.copyOf(list);
    }

    static <T> void writeOptional(DataOutputStream out, Optional<T> value, Writer<T> writer) throws IOException {
        out.writeBoolean(value.isPresent());
        if (value.isPresent()) {
            writer.write(out, value.get());
        }
    }

    static <T> Optional<T> readOptional(DataInputStream in, Reader<T> reader) throws IOException {
        return in.readBoolean() ? Optional.of(reader.read(in)) : Optional.empty();
    }
}
