package org.dl4jamp.inspect.gpu;

import java.util.Comparator;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A GPU's compute capability, NVIDIA's number of the instructions that it understands. */
record ComputeCapability(int major, int minor) implements Comparable<ComputeCapability> {
    private static final Pattern FORM = Pattern.compile("(\\d{1,3})\\.(\\d{1,2})");

    private static final Comparator<ComputeCapability> ORDER =
            Comparator.comparingInt(ComputeCapability::major).thenComparingInt(ComputeCapability::minor);

    /** Returns the capability of a text such as {@code 8.6}; empty if it has another form. */
    static Optional<ComputeCapability> parse(String text) {
        Matcher matcher = FORM.matcher(text);
        return matcher.matches()
                ? Optional.of(
                        new ComputeCapability(Integer.parseInt(matcher.group(1)), Integer.parseInt(matcher.group(2))))
                : Optional.empty();
    }

    /** Returns a capability that is known to be well-formed. */
    static ComputeCapability of(String text) {
        return parse(text)
                .orElseThrow(() -> new IllegalArgumentException("compute capability " + text + ": has to be like 8.6"));
    }

    boolean isAtLeast(int major, int minor) {
        return compareTo(new ComputeCapability(major, minor)) >= 0;
    }

    /** Returns NVIDIA's name of the generation. */
    String generation() {
        return switch (major) {
            case 3 -> "Kepler";
            case 5 -> "Maxwell";
            case 6 -> "Pascal";
            case 7 -> minor >= 5 ? "Turing" : "Volta";
            case 8 -> minor == 9 ? "Ada" : "Ampere";
            case 9 -> "Hopper";
            case 10, 11, 12 -> "Blackwell";
            default -> major < 3 ? "older than Kepler" : "newer than Blackwell";
        };
    }

    @Override
    public int compareTo(ComputeCapability other) {
        return ORDER.compare(this, other);
    }

    @Override
    public String toString() {
        return major + "." + minor;
    }
}
