package org.dl4jamp.inspect.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class Nd4jBackendArtifactTest {
    @TempDir
    private Path folder;

    private Path jar(String artifact, String version) throws IOException {
        Path file = folder.resolve(artifact + ".jar");
        try (OutputStream out = Files.newOutputStream(file);
                JarOutputStream jar = new JarOutputStream(out)) {
            jar.putNextEntry(new JarEntry("META-INF/services/org.nd4j.linalg.factory.Nd4jBackend"));
            jar.write("org.nd4j.linalg.jcublas.JCublasBackend\n".getBytes(StandardCharsets.UTF_8));
            jar.putNextEntry(new JarEntry("META-INF/maven/org.nd4j/" + artifact + "/pom.properties"));
            jar.write(("artifactId=" + artifact + "\nversion=" + version + "\n").getBytes(StandardCharsets.UTF_8));
        }
        return file;
    }

    @Test
    void findsABackendByTheFilesOfItsJar() throws IOException {
        URL[] classPath = {jar("nd4j-cuda-11.6", "1.0.0-M2.1").toUri().toURL()};
        try (URLClassLoader loader = new URLClassLoader(classPath, null)) {
            Nd4jBackendArtifact found = new Nd4jBackendArtifact("nd4j-cuda-11.6", "1.0.0-M2.1");
            assertEquals(List.of(found), Nd4jBackendArtifact.on(loader));
            assertTrue(found.isCuda());
        }
    }

    @Test
    void otherJarsOfNd4jAreNoBackends() throws IOException {
        URL[] classPath = {jar("nd4j-native-api", "1.0.0-M2.1").toUri().toURL()};
        try (URLClassLoader loader = new URLClassLoader(classPath, null)) {
            assertEquals(List.of(), Nd4jBackendArtifact.on(loader));
        }
    }

    @Test
    void findsTheBackendOfTheseTests() {
        List<Nd4jBackendArtifact> found =
                Nd4jBackendArtifact.on(Thread.currentThread().getContextClassLoader());
        assertEquals(1, found.size(), found.toString());
        assertTrue(found.get(0).title().matches("nd4j-\\S+ 1\\.0\\.0-\\S+"), found.toString());
    }
}
