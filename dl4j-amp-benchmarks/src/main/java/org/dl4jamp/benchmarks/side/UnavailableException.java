package org.dl4jamp.benchmarks.side;

/** A side has nothing to measure in this case or on this machine. The message gives the reason. */
public final class UnavailableException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public UnavailableException(String reason) {
        super(reason);
    }

    public UnavailableException(String reason, Throwable cause) {
        super(reason, cause);
    }
}
