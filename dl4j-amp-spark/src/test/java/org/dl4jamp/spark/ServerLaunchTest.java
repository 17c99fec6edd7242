package org.dl4jamp.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.aeron.driver.MediaDriver;
import java.io.File;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.nd4j.parameterserver.distributed.conf.VoidConfiguration;
import org.nd4j.parameterserver.distributed.v2.ModelParameterServer;
import org.nd4j.parameterserver.distributed.v2.transport.impl.AeronUdpTransport;

/**
 * The launch of an executor's parameter server, which the driver doesn't answer. Its port is taken on a real cluster
 * only.
 */
@EnabledForJreRange(maxVersion = 22, disabledReason = "of tests with Spark, which newer JDKs don't run")
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ServerLaunchTest {
    @Test
    void driverThatDoesNotAnswerFailsTheLaunchAfterTwoMinutesAndNothingOfItIsLeft() {
        ModelParameterServer server = ModelParameterServer.getInstance();
        if (server.isInitialized()) {
            server.shutdown();
        }
        AtomicLong clock = new AtomicLong(-5);
        ServerLaunch launch = new ServerLaunch(clock::get);
        VoidConfiguration network = VoidConfiguration.builder()
                .controllerAddress("127.0.0.1")
                .unicastPort(40199)
                .build();
        AeronUdpTransport transport = new AeronUdpTransport("127.0.0.1", 40198, "127.0.0.1", 40199, network);
        server.configure(network, transport, false);
        // As DL4J's launch does.
        network.setUnicastControllerPort(40198);
        assertNull(launch.failure());
        clock.addAndGet(TimeUnit.SECONDS.toNanos(119));
        assertNull(launch.failure());
        clock.addAndGet(TimeUnit.SECONDS.toNanos(2));
        String failure = launch.failure();
        assertTrue(failure.contains("127.0.0.1:40198") && failure.contains("DL4J_VOID_IP"), failure);

        File folder = new File(
                ((MediaDriver) NotPublic.get(AeronUdpTransport.class, transport, "driver")).aeronDirectoryName());
        assertTrue(folder.exists());
        ServerLaunch.removeFailed();
        assertNull(server.getTransport());
        assertEquals(40199, network.getUnicastControllerPort());
        assertTrue(!folder.exists(), folder::toString);
        assertNull(launch.failure());
    }
}
