package org.dl4jamp.ui.record;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;

/** The content of a {@link StoredRecord}. Immutable. */
public sealed interface Content permits PlanContent, StepContent, SkipContent {
    /** The kinds of content. */
    enum Kind {
        PLAN(1),
        STEP(2),
        SKIP(3);

        private final int code;

        /** @param code stands for it in the encoding */
        Kind(int code) {
            this.code = code;
        }

        /** Returns the kind of a content that {@link Content#encode} has encoded. */
        static Kind of(byte[] encoded) throws IOException {
            for (Kind kind : values()) {
                if (encoded.length > 0 && encoded[0] == kind.code) {
                    return kind;
                }
            }
            throw new IOException("no content of a kind that this dl4j-amp reads");
        }
    }

    Kind kind();

    void write(DataOutputStream out) throws IOException;

    /** Returns the kind and the content as bytes. */
    static byte[] encode(Content content) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeByte(content.kind().code);
            content.write(out);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    /**
     * Returns what {@link #encode} was given.
     *
     * @throws IOException if the bytes are of no content, or are too few or too many
     */
    static Content decode(byte[] bytes) throws IOException {
        Kind kind = Kind.of(bytes);
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes, 1, bytes.length - 1));
        try {
            Content content =
                    switch (kind) {
                        case PLAN -> PlanContent.read(in);
                        case STEP -> StepContent.read(in);
                        case SKIP -> SkipContent.read(in);
                    };
            if (in.available() > 0) {
                throw new IOException("there are " + in.available() + " bytes too many");
            }
            return content;
        } catch (IllegalArgumentException e) {
            throw new IOException(e);
        }
    }
}
