package org.dl4jamp.examples.spark;

import java.io.File;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/** The class path of this JVM. */
final class ClassPath {
    private ClassPath() {}

    /** Jars and folders, in their order. */
    static List<Path> entries() {
        return Pattern.compile(Pattern.quote(File.pathSeparator))
                .splitAsStream(System.getProperty("java.class.path"))
                .map(entry -> Path.of(entry).toAbsolutePath())
                .toList();
    }
}
