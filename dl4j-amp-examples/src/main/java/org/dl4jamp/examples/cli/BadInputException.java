package org.dl4jamp.examples.cli;

/** Thrown for input that a command can't use, such as a corrupt file. The message is one line. */
public final class BadInputException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final boolean verbose;

    /**
     * Takes the message of an exception.
     *
     * @param verbose whether its stack trace is shown, too
     */
    public BadInputException(RuntimeException cause, boolean verbose) {
        super(cause.getMessage(), cause);
        this.verbose = verbose;
    }

    /** Returns whether the stack trace is shown, too. */
    public boolean isVerbose() {
        return verbose;
    }
}
