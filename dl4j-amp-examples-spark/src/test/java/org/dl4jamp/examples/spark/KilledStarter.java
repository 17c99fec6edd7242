package org.dl4jamp.examples.spark;

import java.io.IOException;

/** A program that starts a cluster, says what it's made of, and waits to be killed. */
final class KilledStarter {
    static final String LAST_LINE = "started";

    private KilledStarter() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        LoopbackCluster cluster = LoopbackCluster.start(2);
        System.out.println(cluster.folder());
        cluster.processes().forEach(process -> System.out.println(process.pid()));
        System.out.println(LAST_LINE);
        Thread.sleep(Long.MAX_VALUE);
    }
}
