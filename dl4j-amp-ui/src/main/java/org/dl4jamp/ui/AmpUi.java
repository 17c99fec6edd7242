package org.dl4jamp.ui;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.deeplearning4j.core.storage.StatsStorage;
import org.deeplearning4j.ui.model.storage.InMemoryStatsStorage;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.ui.server.MixedPrecisionModule;
import org.dl4jamp.ui.server.TrainingUiServer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * DL4J's training UI with the tab "Mixed precision", for browsers on this machine unless told otherwise.
 *
 * <pre>
 * try (AmpUi ui = AmpUi.start().attach(storage)) {
 *     net.fit(iterator, epochs);
 * }
 * </pre>
 *
 * <p>Shows what a {@link MixedPrecisionStatsListener} reports to a storage, also while it does. The program doesn't end
 * before it's closed. A JVM has one at a time; {@code UIServer.getInstance()} returns DL4J's part of it.
 *
 * <p>DL4J's own {@code UIServer} has the tab, too, if this module is there. But it listens on all addresses of the
 * machine, and takes whatever is sent to it once its remote listener is enabled.
 */
public final class AmpUi implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(AmpUi.class);

    private static final int LARGEST_PORT = 65535;

    private final TrainingUiServer server;
    private final List<StatsStorage> opened = new ArrayList<>();

    private AmpUi(TrainingUiServer server) {
        this.server = server;
    }

    /**
     * Starts it at port 9000 of localhost, or the one that {@code -Dorg.deeplearning4j.ui.port} sets.
     *
     * @throws AmpException as {@link Builder#start}
     */
    public static AmpUi start() {
        return builder().start();
    }

    /** Returns a builder for another port or address, or for reports from other machines. */
    public static Builder builder() {
        return new Builder();
    }

    /** Shows the sessions of a storage. */
    public AmpUi attach(StatsStorage storage) {
        server.attach(AmpException.ifNull(storage, "storage", "a StatsStorage, such as new InMemoryStatsStorage()"));
        return this;
    }

    /**
     * Shows the sessions of a file that a {@code FileStatsStorage} has written, until {@link #close}. A file is open in
     * one program at a time, also for reading.
     *
     * @throws AmpException if there is no such file, another program has it open, or it isn't a whole file of
     *     statistics
     */
    public AmpUi attach(File file) {
        StatsStorage storage = StatsFile.open(file);
        opened.add(storage);
        return attach(storage);
    }

    /** Shows the sessions of a storage no more. */
    public AmpUi detach(StatsStorage storage) {
        server.detach(AmpException.ifNull(storage, "storage", "a StatsStorage that is attached"));
        return this;
    }

    /** Returns the address of the tab. */
    public String address() {
        String host = isLocal(server.host()) || isEvery(server.host()) ? "localhost" : server.host();
        return "http://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + port() + MixedPrecisionModule.PATH;
    }

    /** Returns the port. */
    public int port() {
        return server.getPort();
    }

    /** Stops the server, and closes the files that were attached. */
    @Override
    public void close() {
        server.stopAsInstance();
        opened.forEach(StatsFile::close);
        opened.clear();
    }

    private static boolean isLocal(String host) {
        return host.equals("localhost") || host.startsWith("127.") || host.equals("::1");
    }

    private static boolean isEvery(String host) {
        return host.equals("0.0.0.0") || host.equals("::");
    }

    private void log(boolean receives) {
        LOG.info(
                "Training UI with mixed precision: {}{}{}",
                address(),
                isLocal(server.host())
                        ? ", for this machine only"
                        : ", for every machine that reaches " + server.host() + ", without a password",
                receives ? "; takes reports from RemoteUIStatsStorageRouter" : "");
    }

    /** Settings of the server. Each method but the last returns the builder. */
    public static final class Builder {
        private OptionalInt port = OptionalInt.empty();
        private String host = "localhost";
        private boolean receives;

        private Builder() {}

        /** Sets the port, from 1 to 65535, or 0 for any that is free. */
        public Builder port(int port) {
            if (port < 0 || port > LARGEST_PORT) {
                throw new AmpException("port(" + port + "): give 1 to " + LARGEST_PORT + ", or 0 for any free one");
            }
            this.port = OptionalInt.of(port);
            return this;
        }

        /**
         * Sets the address of this machine where it listens: {@code 0.0.0.0} for all of them. Whoever reaches it sees
         * the training, without a password.
         */
        public Builder host(String host) {
            if (host == null || host.isBlank()) {
                throw new AmpException("host(" + host + "): give a name or an address of this machine, such as"
                        + " \"localhost\", or \"0.0.0.0\" for all of its addresses");
            }
            this.host = host.strip();
            return this;
        }

        /**
         * Takes reports that {@code RemoteUIStatsStorageRouter} sends from other programs, and keeps them in memory.
         * Those of StatsListener and MixedPrecisionStatsListener are taken, which are plain data. All others are
         * refused.
         */
        public Builder receive() {
            receives = true;
            return this;
        }

        /**
         * Starts the server.
         *
         * @throws AmpException if DL4J's UI runs in this JVM already, the port is in use, or the address isn't one of
         *     this machine; nothing is left then
         */
        public AmpUi start() {
            AmpUi ui = new AmpUi(TrainingUiServer.start(host, port));
            if (receives) {
                ui.server.enableRemoteListener(new InMemoryStatsStorage(), true);
            }
            ui.log(receives);
            return ui;
        }
    }
}
