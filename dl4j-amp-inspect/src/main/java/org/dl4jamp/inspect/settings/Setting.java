package org.dl4jamp.inspect.settings;

/**
 * An environment variable, system property or option of the JVM that matters for training.
 *
 * @param kind its kind
 * @param name its name
 * @param value its value; null if it isn't set
 * @param harms whether this value costs time or memory, or changes results
 * @param effect the effect of this value here, in a sentence
 * @param advice what to do, in a sentence; null if nothing
 */
public record Setting(Kind kind, String name, String value, boolean harms, String effect, String advice) {
    /** Where a setting is made. */
    public enum Kind {
        ENVIRONMENT,
        SYSTEM_PROPERTY,
        JVM_OPTION
    }

    /** Returns a setting whose value is in order, or at least meant. */
    static Setting fine(Kind kind, String name, String value, String effect) {
        return new Setting(kind, name, value, false, effect, null);
    }

    /** Returns a setting that would better be another one. */
    static Setting harmful(Kind kind, String name, String value, String effect, String advice) {
        return new Setting(kind, name, value, true, effect, advice);
    }

    /** Returns the same setting with advice that may be left. */
    Setting withAdvice(String what) {
        return new Setting(kind, name, value, harms, effect, what);
    }
}
