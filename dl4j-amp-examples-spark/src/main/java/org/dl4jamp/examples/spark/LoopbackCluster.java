package org.dl4jamp.examples.spark;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import org.apache.spark.SparkConf;
import org.dl4jamp.precision.AmpException;

/**
 * A standalone Spark cluster on loopback: a master and some workers of one core, each a process of its own, and each
 * worker's executor another. No Spark has to be installed: a folder with one jar that names the class path of this JVM
 * serves as Spark's home. All of it ends with this JVM, and nothing of it is left.
 */
final class LoopbackCluster implements AutoCloseable {
    private static final String HOST = "127.0.0.1";
    private static final long PATIENCE_SECONDS = 10;

    private final Path folder;
    private final Path classPath;
    private final String url;
    private final List<Process> processes = new ArrayList<>();
    private final Thread hook = new Thread(this::end, "ends-the-cluster");

    private LoopbackCluster(Path folder, String url) throws IOException {
        this.folder = folder;
        this.url = url;
        this.classPath = Files.createDirectories(folder.resolve("home/jars")).resolve("class-path.jar");
    }

    /** Starts a master and workers. */
    static LoopbackCluster start(int workers) throws IOException {
        Path folder = Files.createTempDirectory("amp-spark-");
        int port = freePort();
        LoopbackCluster cluster = new LoopbackCluster(folder, "spark://" + HOST + ":" + port);
        Runtime.getRuntime().addShutdownHook(cluster.hook);
        try {
            cluster.writeClassPath();
            cluster.launch("master", ClusterProcess.MASTER, "--port", Integer.toString(port));
            for (int worker = 1; worker <= workers; worker++) {
                cluster.launch(
                        "worker-" + worker,
                        "org.apache.spark.deploy.worker.Worker",
                        "--cores",
                        "1",
                        "--memory",
                        "1g",
                        "--work-dir",
                        folder.resolve("work-" + worker).toString(),
                        cluster.url);
            }
            return cluster;
        } catch (IOException | RuntimeException e) {
            cluster.close();
            throw e;
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    /** Writes a jar that holds only the names of others: command lines have limits. */
    private void writeClassPath() throws IOException {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes()
                .put(
                        Attributes.Name.CLASS_PATH,
                        ClassPath.entries().stream()
                                .map(entry -> entry.toUri().toString())
                                .collect(Collectors.joining(" ")));
        try (OutputStream file = Files.newOutputStream(classPath);
                JarOutputStream jar = new JarOutputStream(file, manifest)) {
            jar.finish();
        }
    }

    private void launch(String name, String main, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx256m"));
        command.addAll(SparkJvm.OPTIONS);
        command.addAll(List.of(
                "-Djava.io.tmpdir=" + folder,
                "-cp",
                classPath.toString(),
                ClusterProcess.class.getName(),
                folder.toString(),
                main,
                "--host",
                HOST,
                "--webui-port",
                "0"));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve(name + ".log").toFile());
        Map<String, String> environment = builder.environment();
        environment.put("SPARK_HOME", folder.resolve("home").toString());
        environment.put("SPARK_SCALA_VERSION", "2.12");
        environment.put("SPARK_LOCAL_IP", HOST);
        environment.put("SPARK_LOCAL_DIRS", folder.resolve("local").toString());
        // A core for each executor.
        environment.put("OMP_NUM_THREADS", "1");
        synchronized (processes) {
            processes.add(builder.start());
        }
    }

    /** Returns what a driver needs to train on it. */
    SparkConf configuration() {
        return new SparkConf()
                .setMaster(url)
                .set("spark.driver.host", HOST)
                .set("spark.driver.bindAddress", HOST)
                .set("spark.ui.enabled", "false")
                .set("spark.local.dir", folder.resolve("local").toString())
                .set("spark.executor.memory", "768m")
                .set("spark.executor.extraJavaOptions", "-Djava.io.tmpdir=" + folder)
                // One that is killed may take a stage's results along again and again.
                .set("spark.task.maxFailures", "8")
                .set("spark.stage.maxConsecutiveAttempts", "8");
    }

    /** Returns the processes of executors: what workers have started. */
    List<ProcessHandle> executors() {
        synchronized (processes) {
            return processes.stream().flatMap(Process::children).toList();
        }
    }

    /** Ends the process of one executor in the hardest way, empty if there is none. Spark's worker starts another. */
    Optional<Long> killExecutor(int index) {
        List<ProcessHandle> executors = executors();
        if (executors.isEmpty()) {
            return Optional.empty();
        }
        ProcessHandle victim = executors.get(index % executors.size());
        return victim.destroyForcibly() ? Optional.of(victim.pid()) : Optional.empty();
    }

    /**
     * Looks whether all processes live.
     *
     * @throws AmpException if one has ended, with the end of its log
     */
    void check() {
        synchronized (processes) {
            for (Process process : processes) {
                if (!process.isAlive()) {
                    throw new AmpException("A process of the Spark cluster on loopback has ended with exit code "
                            + process.exitValue() + "; the logs say:\n" + logs());
                }
            }
        }
    }

    private String logs() {
        try (var files = Files.list(folder)) {
            StringBuilder logs = new StringBuilder();
            for (Path file :
                    files.filter(each -> each.toString().endsWith(".log")).toList()) {
                List<String> lines = Files.readAllLines(file);
                lines.subList(Math.max(0, lines.size() - 10), lines.size())
                        .forEach(line -> logs.append(file.getFileName())
                                .append(": ")
                                .append(line)
                                .append('\n'));
            }
            return logs.toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Path folder() {
        return folder;
    }

    /** Returns the master's process and the workers'. */
    List<ProcessHandle> processes() {
        synchronized (processes) {
            return processes.stream().map(Process::toHandle).toList();
        }
    }

    @Override
    public void close() {
        end();
        Runtime.getRuntime().removeShutdownHook(hook);
    }

    private void end() {
        synchronized (processes) {
            List<ProcessHandle> all = new ArrayList<>(executors());
            processes.forEach(process -> all.add(process.toHandle()));
            // The end of their standard input has workers end in order, and take their executors along. The master
            // would wait for that by itself.
            for (Process process : processes.subList(Math.min(1, processes.size()), processes.size())) {
                try {
                    process.getOutputStream().close();
                } catch (IOException e) {
                    // It has ended.
                }
            }
            List<ProcessHandle> orderly = all.stream()
                    .filter(process -> process.pid() != processes.get(0).pid())
                    .toList();
            awaitEnd(orderly);
            all.forEach(ProcessHandle::destroyForcibly);
            // Killed processes are there for a moment, and may still write into the folder.
            awaitEnd(all);
            processes.clear();
        }
        Folders.remove(folder);
    }

    private static void awaitEnd(List<ProcessHandle> ending) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (ending.stream().anyMatch(ProcessHandle::isAlive) && System.nanoTime() < deadline) {
            try {
                Thread.sleep(20);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }
}
