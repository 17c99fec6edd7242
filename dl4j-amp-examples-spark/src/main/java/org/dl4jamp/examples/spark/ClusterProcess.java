package org.dl4jamp.examples.spark;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * A process of the cluster on loopback: Spark's master or a worker. It ends with the process that started it, however
 * that one ended: its standard input ends then, because the starting process holds the other end. A worker that ends
 * takes its executors along.
 */
final class ClusterProcess {
    /** The process that ends last where its starter couldn't end the others, and removes what they leave. */
    static final String MASTER = "org.apache.spark.deploy.master.Master";

    private static final long PATIENCE_SECONDS = 5;

    private ClusterProcess() {}

    /**
     * Runs a main class.
     *
     * @param args the cluster's folder; a main class; its arguments
     */
    public static void main(String[] args) throws Exception {
        Thread watch =
                new Thread(() -> endWithStarter(Path.of(args[0]), args[1].equals(MASTER)), "ends-with-its-starter");
        watch.setDaemon(true);
        watch.start();
        Method main = Class.forName(args[1]).getMethod("main", String[].class);
        main.invoke(null, (Object) Arrays.copyOfRange(args, 2, args.length));
    }

    private static void endWithStarter(Path folder, boolean last) {
        try {
            while (System.in.read() >= 0) {
                // Nothing is written; the thread waits for the end.
            }
        } catch (IOException e) {
            // An end as well.
        }
        if (last) {
            sleep();
            Folders.remove(folder);
        } else {
            Thread exit = new Thread(() -> System.exit(0), "exit");
            exit.setDaemon(true);
            exit.start();
            sleep();
        }
        Runtime.getRuntime().halt(0);
    }

    /** Lets workers and executors end in order. */
    private static void sleep() {
        try {
            TimeUnit.SECONDS.sleep(PATIENCE_SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
