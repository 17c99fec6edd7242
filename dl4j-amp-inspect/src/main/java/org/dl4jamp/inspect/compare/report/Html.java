package org.dl4jamp.inspect.compare.report;

/** Text within HTML. */
final class Html {
    private Html() {}

    /** Escapes text for elements and attributes. */
    static String escape(String text) {
        StringBuilder escaped = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '&' -> escaped.append("&amp;");
                case '<' -> escaped.append("&lt;");
                case '>' -> escaped.append("&gt;");
                case '"' -> escaped.append("&quot;");
                case '\'' -> escaped.append("&#39;");
                default -> escaped.append(c);
            }
        }
        return escaped.toString();
    }

    /** Returns an element with escaped text. */
    static String element(String name, String text) {
        return "<" + name + ">" + escape(text) + "</" + name + ">\n";
    }
}
