package org.dl4jamp.inspect.settings;

import static org.dl4jamp.inspect.settings.Setting.Kind.JVM_OPTION;
import static org.dl4jamp.inspect.settings.Setting.Kind.SYSTEM_PROPERTY;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.dl4jamp.inspect.text.Bytes;

/** Limits of the JVM's heap and of ND4J's arrays, which are outside of it. */
final class MemorySettings {
    private static final String ARRAYS = "org.bytedeco.javacpp.maxbytes";
    private static final String PROCESS = "org.bytedeco.javacpp.maxphysicalbytes";
    private static final String NO_COLLECTION = "org.bytedeco.javacpp.nopointergc";
    private static final Pattern SIZE = Pattern.compile("(\\d{1,15})([kmgt]?)b?");

    /** The part of the memory that the heap may take without being in the way of arrays. */
    private static final double LARGE_HEAP = 0.6;

    private MemorySettings() {}

    static List<Setting> of(Surroundings here) {
        return Stream.of(heap(here), arrays(here), process(here), noCollection(here))
                .flatMap(Optional::stream)
                .toList();
    }

    private static Optional<Setting> heap(Surroundings here) {
        if (here.heapLimitBytes() <= LARGE_HEAP * here.memoryBytes()) {
            return Optional.empty();
        }
        return Optional.of(Setting.harmful(
                JVM_OPTION,
                "-Xmx",
                Bytes.text(here.heapLimitBytes()),
                "The heap may grow to most of the memory, which is " + Bytes.text(here.memoryBytes())
                        + ". ND4J's arrays are outside of the heap, and need that memory.",
                "Lower -Xmx: a network needs little heap."));
    }

    private static Optional<Setting> arrays(Surroundings here) {
        Optional<String> value = here.property(ARRAYS);
        if (value.isEmpty()) {
            return Optional.of(Setting.fine(
                            SYSTEM_PROPERTY,
                            ARRAYS,
                            null,
                            "ND4J's arrays take as much as the heap may, at most: " + Bytes.text(here.heapLimitBytes())
                                    + " of " + Bytes.text(here.memoryBytes()) + ".")
                    .withAdvice("Set it, such as to 8g, for a network that ends in an OutOfMemoryError."));
        }
        OptionalLong limit = bytes(value.get());
        if (limit.isEmpty()) {
            return Optional.of(Setting.harmful(
                    SYSTEM_PROPERTY,
                    ARRAYS,
                    value.get(),
                    "It isn't a size: JavaCPP can't be loaded with it.",
                    "Take a number of bytes, or one with k, m or g."));
        }
        long all = limit.getAsLong() == 0 ? Long.MAX_VALUE : limit.getAsLong();
        return Optional.of(
                all > here.memoryBytes() - here.heapLimitBytes()
                        ? Setting.harmful(
                                SYSTEM_PROPERTY,
                                ARRAYS,
                                value.get(),
                                "ND4J's arrays and the heap together may take more than there is, "
                                        + Bytes.text(here.memoryBytes())
                                        + ": the system may swap or end the process.",
                                "Lower it, or -Xmx.")
                        : Setting.fine(
                                SYSTEM_PROPERTY,
                                ARRAYS,
                                value.get(),
                                "ND4J's arrays take at most " + Bytes.text(limit.getAsLong()) + " outside the heap."));
    }

    private static Optional<Setting> process(Surroundings here) {
        return here.property(PROCESS).map(value -> {
            OptionalLong limit = bytes(value);
            boolean isLow = limit.isPresent() && limit.getAsLong() > 0 && limit.getAsLong() < here.heapLimitBytes();
            return isLow
                    ? Setting.harmful(
                            SYSTEM_PROPERTY,
                            PROCESS,
                            value,
                            "The heap alone may take " + Bytes.text(here.heapLimitBytes())
                                    + ": arrays then fail with an OutOfMemoryError.",
                            "Raise it above the heap and the arrays together, or lower -Xmx.")
                    : Setting.fine(
                            SYSTEM_PROPERTY,
                            PROCESS,
                            value,
                            "New arrays fail once the process has more memory than that.");
        });
    }

    private static Optional<Setting> noCollection(Surroundings here) {
        return here.property(NO_COLLECTION)
                .filter(Boolean::parseBoolean)
                .map(value -> Setting.harmful(
                        SYSTEM_PROPERTY,
                        NO_COLLECTION,
                        value,
                        "Arrays outside of workspaces are never freed.",
                        "Unset it."));
    }

    /** Returns the bytes of a size such as {@code 512m}, as JavaCPP reads it. */
    private static OptionalLong bytes(String size) {
        Matcher matcher = SIZE.matcher(size.toLowerCase(Locale.ROOT));
        if (!matcher.matches()) {
            return OptionalLong.empty();
        }
        int shift =
                switch (matcher.group(2)) {
                    case "k" -> 10;
                    case "m" -> 20;
                    case "g" -> 30;
                    case "t" -> 40;
                    default -> 0;
                };
        long number = Long.parseLong(matcher.group(1));
        return OptionalLong.of(number > Long.MAX_VALUE >> shift ? Long.MAX_VALUE : number << shift);
    }
}
