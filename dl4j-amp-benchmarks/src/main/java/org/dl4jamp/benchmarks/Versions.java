package org.dl4jamp.benchmarks;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import picocli.CommandLine.IVersionProvider;

/** The versions in this build. */
final class Versions implements IVersionProvider {
    @Override
    public String[] getVersion() throws IOException {
        return new String[] {
            "dl4j-amp " + of("dl4j-amp"),
            "DL4J " + of("dl4j"),
            "PyTorch " + of("pytorch"),
            "ONNX Runtime " + of("onnxruntime")
        };
    }

    /** Returns the version of dl4j-amp, dl4j, pytorch or onnxruntime. */
    static String of(String name) throws IOException {
        Properties versions = new Properties();
        try (InputStream file = Versions.class.getResourceAsStream("version.properties")) {
            versions.load(file);
        }
        return versions.getProperty(name);
    }
}
