package org.dl4jamp.examples.spark;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The requirements of Spark for a JVM. */
final class SparkJvm {
    /** The first JDK whose {@code Subject.getSubject}, which Spark's Hadoop calls when a context starts, throws. */
    private static final int FIRST_WITHOUT_SUBJECT = 23;

    /** The options with which Spark's own scripts start a JVM, to open packages for it. */
    static final List<String> OPTIONS = Stream.concat(
                    Stream.of(
                                    "lang",
                                    "lang.invoke",
                                    "lang.reflect",
                                    "io",
                                    "net",
                                    "nio",
                                    "util",
                                    "util.concurrent",
                                    "util.concurrent.atomic")
                            .map(name -> "java." + name),
                    Stream.of("nio.ch", "nio.cs", "security.action", "util.calendar")
                            .map(name -> "sun." + name))
            .map(name -> "--add-opens=java.base/" + name + "=ALL-UNNAMED")
            .toList();

    private SparkJvm() {}

    /** Returns the reason why Spark doesn't start on a JDK of a release, with a remedy; empty if it does. */
    static Optional<String> refusal(int release) {
        return release < FIRST_WITHOUT_SUBJECT
                ? Optional.empty()
                : Optional.of("Spark 3.5 doesn't start on JDK " + release
                        + ", which lacks what its Hadoop calls (\"getSubject is not supported\"); set"
                        + " JAVA_HOME to a JDK 17");
    }
}
