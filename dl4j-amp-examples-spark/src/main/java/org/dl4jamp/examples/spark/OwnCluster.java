package org.dl4jamp.examples.spark;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;

/** A user's own cluster, which has Spark and nothing of ours: the program's jars are sent to it. */
final class OwnCluster {
    private OwnCluster() {}

    static SparkConf configuration(String url, int workers) throws IOException {
        List<String> jars = new ArrayList<>();
        for (Path path : ClassPath.entries()) {
            if (Files.isDirectory(path)) {
                jars.add(jarOf(path).toString());
            } else if (!isClusters(path)) {
                jars.add(path.toString());
            }
        }
        return new SparkConf()
                .setMaster(url)
                .set("spark.ui.enabled", "false")
                .set("spark.cores.max", Integer.toString(workers))
                .set("spark.executor.cores", "1")
                .setJars(jars.toArray(String[]::new));
    }

    /** Returns whether a jar is part of every Spark installation. */
    private static boolean isClusters(Path jar) {
        String path = jar.toString().replace(File.separatorChar, '/');
        return Stream.of(
                        "/org/apache/",
                        "/org/scala-lang/",
                        "/io/netty/",
                        "/com/esotericsoftware/",
                        "/com/fasterxml/",
                        "/com/twitter/",
                        "/org/slf4j/",
                        "/org/json4s/",
                        "/org/glassfish/",
                        "/org/rocksdb/",
                        "/jakarta/")
                .anyMatch(path::contains);
    }

    private static Path jarOf(Path classes) throws IOException {
        Path jar = Files.createTempFile("amp-spark-", ".jar");
        jar.toFile().deleteOnExit();
        try (OutputStream file = Files.newOutputStream(jar);
                JarOutputStream out = new JarOutputStream(file);
                Stream<Path> files = Files.walk(classes)) {
            for (Path each : files.filter(Files::isRegularFile).toList()) {
                out.putNextEntry(
                        new JarEntry(classes.relativize(each).toString().replace(File.separatorChar, '/')));
                Files.copy(each, out);
                out.closeEntry();
            }
        }
        return jar;
    }
}
