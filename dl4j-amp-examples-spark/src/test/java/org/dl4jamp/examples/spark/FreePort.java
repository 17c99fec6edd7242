package org.dl4jamp.examples.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import org.nd4j.parameterserver.distributed.v2.transport.PortSupplier;

/**
 * A port that is free, another one in each process: the one number that DL4J has by default can't serve two executors
 * of one machine.
 */
final class FreePort implements PortSupplier {
    private static final long serialVersionUID = 1L;

    private transient int port;

    @Override
    public synchronized int getPort() {
        if (port == 0) {
            try (DatagramSocket socket = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
                port = socket.getLocalPort();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return port;
    }
}
