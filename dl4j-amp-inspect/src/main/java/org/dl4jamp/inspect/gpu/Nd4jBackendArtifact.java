package org.dl4jamp.inspect.gpu;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.JarURLConnection;
import java.net.URL;
import java.net.URLConnection;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Pattern;

/**
 * A backend of ND4J on the class path. Its classes aren't loaded for that.
 *
 * @param artifact such as {@code nd4j-native} or {@code nd4j-cuda-11.6}
 * @param version its release
 */
public record Nd4jBackendArtifact(String artifact, String version) {
    private static final String SERVICE = "META-INF/services/org.nd4j.linalg.factory.Nd4jBackend";
    private static final Pattern MAVEN_FILE =
            Pattern.compile("META-INF/maven/org\\.nd4j/nd4j-(native|cuda-[0-9.]+)/pom\\.properties");

    /** Returns the backends that a class loader has; none where jars were repackaged without their Maven files. */
    static List<Nd4jBackendArtifact> on(ClassLoader classPath) {
        try {
            List<Nd4jBackendArtifact> found = new ArrayList<>();
            for (URL service : Collections.list(classPath.getResources(SERVICE))) {
                URLConnection connection = service.openConnection();
                if (connection instanceof JarURLConnection jar) {
                    found.addAll(in(jar));
                }
            }
            return found.stream().distinct().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<Nd4jBackendArtifact> in(JarURLConnection connection) throws IOException {
        // A jar of its own: the class path's, which the cache would give, must not be closed.
        connection.setUseCaches(false);
        List<Nd4jBackendArtifact> found = new ArrayList<>();
        try (JarFile jar = connection.getJarFile()) {
            for (JarEntry entry : Collections.list(jar.entries())) {
                if (MAVEN_FILE.matcher(entry.getName()).matches()) {
                    Properties properties = new Properties();
                    try (InputStream in = jar.getInputStream(entry)) {
                        properties.load(in);
                    }
                    found.add(new Nd4jBackendArtifact(
                            properties.getProperty("artifactId"), properties.getProperty("version")));
                }
            }
        }
        return found;
    }

    boolean isCuda() {
        return artifact.startsWith("nd4j-cuda");
    }

    /** Returns artifact and release in one text. */
    public String title() {
        return artifact + " " + version;
    }
}
