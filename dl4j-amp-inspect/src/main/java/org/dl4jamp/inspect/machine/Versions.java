package org.dl4jamp.inspect.machine;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** Versions that the build writes into a file. */
public final class Versions {
    private Versions() {}

    /** Returns the version of dl4j-amp. */
    public static String dl4jAmp() {
        Properties versions = new Properties();
        try (InputStream file = Versions.class.getResourceAsStream("versions.properties")) {
            versions.load(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return versions.getProperty("dl4j-amp");
    }
}
