package org.dl4jamp;

/**
 * Something dl4j-amp can't or won't do. The message names the argument or layer, its value, what is allowed and what to do. Network, files
 * and loss scaler are as they were before the call, unless the message says otherwise.
 */
public class AmpException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public AmpException(String message) {
        super(message);
    }

    public AmpException(String message, Throwable cause) {
        super(message, cause);
    }
}
