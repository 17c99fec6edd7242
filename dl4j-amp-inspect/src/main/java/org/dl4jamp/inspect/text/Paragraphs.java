package org.dl4jamp.inspect.text;

import java.util.ArrayList;
import java.util.List;

/** Text in lines of a limited length. */
public final class Paragraphs {
    /** The width of lines for a terminal. */
    public static final int WIDTH = 100;

    private Paragraphs() {}

    /**
     * Returns a text in lines of at most {@link #WIDTH} characters, unless a word is longer.
     *
     * @param label what the first line begins with; other lines begin with as many spaces
     */
    public static String wrapped(String label, String text) {
        List<String> lines = new ArrayList<>();
        StringBuilder line = new StringBuilder(label);
        boolean isEmpty = true;
        for (String word : text.split(" +", -1)) {
            if (!isEmpty && line.length() + 1 + word.length() > WIDTH) {
                lines.add(line.toString());
                line = new StringBuilder(" ".repeat(label.length()));
                isEmpty = true;
            }
            line.append(isEmpty ? "" : " ").append(word);
            isEmpty = false;
        }
        lines.add(line.toString());
        return String.join(System.lineSeparator(), lines);
    }
}
