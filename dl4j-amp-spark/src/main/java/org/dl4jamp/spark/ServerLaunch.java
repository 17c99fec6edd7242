package org.dl4jamp.spark;

import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.dl4jamp.precision.AmpException;
import org.nd4j.parameterserver.distributed.conf.VoidConfiguration;
import org.nd4j.parameterserver.distributed.v2.ModelParameterServer;
import org.nd4j.parameterserver.distributed.v2.transport.impl.AeronUdpTransport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The launch of DL4J's parameter server in an executor, by its first task of shared gradients. DL4J waits in it for the
 * driver's answer without an end, also where its own port can't be opened.
 */
final class ServerLaunch {
    private static final Logger LOG = LoggerFactory.getLogger(SparkAmp.class);

    /** Aeron's status of a channel that couldn't be opened. */
    private static final long ERRORED = -1;

    private static final long PATIENCE_NANOSECONDS = TimeUnit.MINUTES.toNanos(2);

    private final LongSupplier nanoTime;
    private boolean seen;
    private long seenAt;

    ServerLaunch() {
        this(System::nanoTime);
    }

    ServerLaunch(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /**
     * Returns why the launch in progress can't succeed, null if it may, or if there is none. Any thread may call it.
     */
    synchronized String failure() {
        if (!(launching() instanceof AeronUdpTransport transport)) {
            return null;
        }
        Object subscription = NotPublic.get(AeronUdpTransport.class, transport, "ownSubscription");
        if (subscription != null && status(subscription) == ERRORED) {
            return "This executor can't receive the gradients of others: its port " + transport.id()
                    + " can't be opened, because another process has it, or the address isn't this machine's. Where two"
                    + " executors run on one machine, give VoidConfiguration a PortSupplier that finds a free port; the"
                    + " address is DL4J_VOID_IP in the executor's environment, or that of"
                    + " VoidConfiguration.networkMask";
        }
        long now = nanoTime.getAsLong();
        if (!seen) {
            seen = true;
            seenAt = now;
        }
        return now - seenAt < PATIENCE_NANOSECONDS
                ? null
                : "The driver hasn't answered this executor, " + transport.id()
                        + ", for two minutes: it has to reach that"
                        + " address by UDP. DL4J_VOID_IP in the executor's environment, or"
                        + " VoidConfiguration.networkMask,"
                        + " says which it is; without them it is 127.0.0.1";
    }

    private static Object launching() {
        ModelParameterServer server = ModelParameterServer.getInstance();
        return server.isInitialized() ? null : server.getTransport();
    }

    private static long status(Object subscription) {
        try {
            return (long) subscription.getClass().getMethod("channelStatus").invoke(subscription);
        } catch (ReflectiveOperationException e) {
            throw NotPublic.otherRelease(e);
        }
    }

    /**
     * Removes what a launch that has failed has left, so that another can begin. DL4J's own {@code shutdown} fails on
     * it.
     */
    static void removeFailed() {
        if (!(launching() instanceof AeronUdpTransport transport)) {
            return;
        }
        ModelParameterServer server = ModelParameterServer.getInstance();
        for (String subscribers : List.of("updatesSubscribers", "modelParamsSubsribers", "updaterParamsSubscribers")) {
            ((List<?>) NotPublic.get(ModelParameterServer.class, server, subscribers)).clear();
        }
        // The launch has written the executor's own port over the driver's: another launch would connect to itself.
        String driver = transport.getRootId();
        ((VoidConfiguration) NotPublic.get(ModelParameterServer.class, server, "configuration"))
                .setUnicastControllerPort(Integer.parseInt(driver.substring(driver.lastIndexOf(':') + 1)));
        NotPublic.set(ModelParameterServer.class, server, "transport", null);
        close(transport);
    }

    private static void close(AeronUdpTransport transport) {
        AtomicBoolean isShutDown = (AtomicBoolean) NotPublic.get(AeronUdpTransport.class, transport, "shutdownFlag");
        if (!isShutDown.compareAndSet(false, true)) {
            return;
        }
        ((ExecutorService) NotPublic.get(AeronUdpTransport.class, transport, "messagesExecutorService")).shutdownNow();
        for (String name : List.of("aeron", "driver")) {
            try {
                ((AutoCloseable) NotPublic.get(AeronUdpTransport.class, transport, name)).close();
            } catch (AmpException e) {
                throw e;
            } catch (Exception e) {
                LOG.warn("A connection of shared gradients that couldn't be made isn't closed ({})", name, e);
            }
        }
    }
}
