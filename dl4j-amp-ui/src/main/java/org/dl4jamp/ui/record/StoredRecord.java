package org.dl4jamp.ui.record;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import org.deeplearning4j.core.storage.Persistable;

/**
 * A record of a worker of a session, as DL4J's storages keep it: who and when, and a {@link Content} as bytes.
 *
 * <p>Storages make an empty record by the name of this class, and decode into it. So the class is public, has a
 * constructor without arguments, and keeps its name. It holds nothing but texts and bytes, which any serialization can
 * take along.
 */
public final class StoredRecord implements Persistable {
    /** The type of these records in a storage. */
    public static final String TYPE_ID = "MixedPrecision";

    private static final long serialVersionUID = 1L;
    private static final byte VERSION = 1;

    private String session = "";
    private String worker = "";
    private long time;
    private byte[] content = {};

    /** For storages, which then decode into it. */
    public StoredRecord() {}

    /**
     * Makes a record.
     *
     * @param time milliseconds since 1970; storages keep one record of a worker at each time
     */
    public StoredRecord(String session, String worker, long time, Content content) {
        this.session = session;
        this.worker = worker;
        this.time = time;
        this.content = Content.encode(content);
    }

    /** Returns the kind of its content, without decoding it. */
    public Content.Kind kind() {
        try {
            return Content.Kind.of(content);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns its content. */
    public Content content() {
        try {
            return Content.decode(content);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public String getSessionID() {
        return session;
    }

    @Override
    public String getTypeID() {
        return TYPE_ID;
    }

    @Override
    public String getWorkerID() {
        return worker;
    }

    @Override
    public long getTimeStamp() {
        return time;
    }

    @Override
    public void encode(OutputStream stream) throws IOException {
        DataOutputStream out = new DataOutputStream(stream);
        out.writeByte(VERSION);
        Values.writeText(out, session);
        Values.writeText(out, worker);
        out.writeLong(time);
        out.writeInt(content.length);
        out.write(content);
        out.flush();
    }

    @Override
    public void decode(InputStream stream) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(stream.readAllBytes()));
        byte version = in.readByte();
        if (version != VERSION) {
            throw new IOException("a record of version " + version + "; this dl4j-amp reads version " + VERSION);
        }
        String newSession = Values.readText(in);
        String newWorker = Values.readText(in);
        long newTime = in.readLong();
        byte[] newContent = Values.readBytes(in);
        Content.decode(newContent);
        session = newSession;
        worker = newWorker;
        time = newTime;
        content = newContent;
    }

    @Override
    public int encodingLengthBytes() {
        return encode().length;
    }

    @Override
    public byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            encode(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    @Override
    public void encode(ByteBuffer buffer) {
        buffer.put(encode());
    }

    @Override
    public void decode(byte[] bytes) {
        try {
            decode(new ByteArrayInputStream(bytes));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void decode(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        decode(bytes);
    }
}
