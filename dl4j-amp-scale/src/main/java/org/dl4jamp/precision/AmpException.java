package org.dl4jamp.precision;

/**
 * Thrown for what dl4j-amp can't or won't do. The message names the argument or layer, its value, what is allowed and
 * what to do. Network, files and loss scaler are as they were before the call, unless the message states otherwise.
 */
public class AmpException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private static final int LONGEST_QUOTE = 80;

    public AmpException(String message) {
        super(message);
    }

    public AmpException(String message, Throwable cause) {
        super(message, cause);
    }

    /**
     * Returns the argument itself.
     *
     * @param argument its name
     * @param give a valid value, for the message
     * @throws AmpException if it's null
     */
    public static <T> T ifNull(T value, String argument, String give) {
        if (value == null) {
            throw new AmpException(argument + ": null; give " + give);
        }
        return value;
    }

    /**
     * Returns a value as messages quote it: its text, of a long one the beginning of {@value #LONGEST_QUOTE} characters
     * and how long it is.
     */
    public static String quote(Object value) {
        String text = String.valueOf(value);
        return text.length() <= LONGEST_QUOTE
                ? text
                : text.substring(0, LONGEST_QUOTE) + "… (" + text.length() + " characters)";
    }
}
