package org.dl4jamp.onednn.primitive;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.module.ModuleDescriptor.Version;
import java.util.Optional;
import java.util.Properties;
import org.bytedeco.javacpp.Loader;

/**
 * The requirements of oneDNN on the class path. A message names in one line what is missing and which dependency brings
 * it.
 *
 * <p>It looks for files only: a class that failed to load must not be touched again.
 */
final class ClassPathNeeds {
    private final Properties built = new Properties();
    private final ClassLoader classPath = ClassPathNeeds.class.getClassLoader();
    private final String platform = Loader.getPlatform();

    ClassPathNeeds() {
        try (InputStream in = ClassPathNeeds.class.getResourceAsStream("versions.properties")) {
            built.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Returns the defect of the JavaCPP on the class path. With an older one than oneDNN's binding was made for,
     * everything loads, and methods are missing in the middle of training.
     */
    Optional<String> olderJavaCpp() {
        String needed = built.getProperty("javacpp");
        return javaCppRelease()
                .filter(release -> isOlder(release, needed))
                .map(release ->
                        withBom("the JavaCPP on the class path is " + release + ", and oneDNN's binding takes " + needed
                                + ": add " + coordinates("javacpp") + ", without and with the classifier " + platform));
    }

    /** Returns why loading oneDNN or making its engine ended in an error. */
    String missing(Throwable error) {
        if (!has("org/bytedeco/dnnl/global/dnnl.class")) {
            return withBom("oneDNN's binding is not on the class path: add " + coordinates("dnnl"));
        }
        if (!has("org/bytedeco/opencl/global/OpenCL.class")) {
            return withBom(
                    "OpenCL's binding, which oneDNN's loads, is not on the class path: add " + coordinates("opencl"));
        }
        if (!has("org/bytedeco/dnnl/" + platform + "/" + System.mapLibraryName("jnidnnl"))) {
            return withBom("oneDNN's native library for " + platform + " is not on the class path: add "
                    + coordinates("dnnl") + " with the classifier " + platform
                    + ", if it's one of those that org.bytedeco:dnnl-platform brings");
        }
        return withBom("oneDNN's native library doesn't load on " + platform + " (" + firstLine(error) + "): it takes "
                + coordinates("dnnl") + ", " + coordinates("opencl") + " and " + coordinates("javacpp")
                + ", each also with the classifier " + platform);
    }

    private String withBom(String sentence) {
        return sentence + ". Versions that agree: org.dl4jamp:dl4j-amp-bom:" + built.getProperty("dl4j-amp");
    }

    private boolean has(String file) {
        return classPath.getResource(file) != null;
    }

    private String coordinates(String artifact) {
        return "org.bytedeco:" + artifact + ":" + built.getProperty(artifact);
    }

    /** Returns JavaCPP's version; empty where it was repackaged without its Maven files. */
    private static Optional<String> javaCppRelease() {
        try {
            return Optional.ofNullable(Loader.getVersion("org.bytedeco", "javacpp", Loader.class));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns whether the first of two releases, such as 1.5.7 and 1.5.13, is the older one; not if it's no number. */
    static boolean isOlder(String release, String needed) {
        return release.matches("\\d.*") && Version.parse(release).compareTo(Version.parse(needed)) < 0;
    }

    private static String firstLine(Throwable error) {
        Throwable said =
                error instanceof ExceptionInInitializerError && error.getCause() != null ? error.getCause() : error;
        return said.toString().lines().findFirst().orElseThrow();
    }
}
