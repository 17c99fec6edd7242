package org.dl4jamp.examples;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import picocli.CommandLine.IVersionProvider;

/** The output of {@code amp --version}: the versions in this build. */
final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() throws IOException {
        Properties versions = new Properties();
        try (InputStream file = Version.class.getResourceAsStream("version.properties")) {
            versions.load(file);
        }
        return new String[] {
            "dl4j-amp " + versions.getProperty("dl4j-amp"),
            "DL4J " + versions.getProperty("dl4j") + ", backend " + versions.getProperty("backend"),
            "Java " + System.getProperty("java.version")
        };
    }
}
