package org.dl4jamp.benchmarks.side;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;

/**
 * The turns of a process: it measures while the processes of other sides wait. A host's speed that changes from minute
 * to minute then affects all sides alike.
 */
public interface Turns extends Closeable {
    /** Gives a process that has no others beside it each turn at once. */
    Turns ALONE = new Turns() {
        @Override
        public void begin() {}

        @Override
        public void end() {}

        @Override
        public void close() {}
    };

    /** Waits for the next turn. The first call says that this process is warm. */
    void begin() throws IOException;

    /** Ends a turn other than the last, which ends with the process. */
    void end() throws IOException;

    @Override
    void close() throws IOException;

    /**
     * Returns turns that another process of this machine gives. It writes a byte for the begin of a turn, and reads one
     * for the end.
     *
     * @param port where it listens on the loopback interface
     */
    static Turns given(int port) {
        return new Turns() {
            private Socket socket;

            @Override
            public void begin() throws IOException {
                if (socket == null) {
                    socket = new Socket(InetAddress.getLoopbackAddress(), port);
                }
                if (socket.getInputStream().read() < 0) {
                    throw new EOFException("the benchmark ended before this process had all its turns");
                }
            }

            @Override
            public void end() throws IOException {
                socket.getOutputStream().write(1);
            }

            @Override
            public void close() throws IOException {
                if (socket != null) {
                    socket.close();
                }
            }
        };
    }
}
