package org.dl4jamp.config;

import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.LayerKind;

/**
 * A user's override of the precision of some layers: which ones, and whether they get lower or full precision.
 *
 * <p>The most specific rule that matches a layer wins: a rule by name beats one by class, a class beats its superclass,
 * and a class beats a predicate. Between two equally specific rules the later one wins.
 */
public sealed interface PrecisionRule {
    /** {@link LayerKind#LOWER} or {@link LayerKind#FULL}. */
    LayerKind kind();

    /** Returns whether the rule is about this layer. */
    boolean matches(String layerName, Layer layer);

    /** Returns how the rule was written, for messages. */
    String describe();

    /** Layers whose name matches a regular expression as a whole. */
    record ByName(LayerKind kind, Pattern pattern) implements PrecisionRule {
        public static ByName of(LayerKind kind, String regex) {
            AmpException.ifNull(regex, "nameRegex", "a regular expression for names of layers, such as \"bn_.*\"");
            try {
                return new ByName(kind, Pattern.compile(regex));
            } catch (PatternSyntaxException e) {
                throw new AmpException(
                        method(kind) + "(\"" + AmpException.quote(regex) + "\"): not a regular expression ("
                                + e.getDescription()
                                + " at index " + e.getIndex()
                                + "); name layers by a java.util.regex pattern such as \"bn_.*\"",
                        e);
            }
        }

        @Override
        public boolean matches(String layerName, Layer layer) {
            return pattern.matcher(layerName).matches();
        }

        @Override
        public String describe() {
            return method(kind) + "(\"" + pattern.pattern() + "\")";
        }
    }

    /** Layers whose configuration is of a class or a subclass of it. */
    record ByClass(LayerKind kind, Class<? extends Layer> type) implements PrecisionRule {
        public ByClass {
            AmpException.ifNull(type, "layerClass", "a class of layer configurations, such as DenseLayer.class");
        }

        @Override
        public boolean matches(String layerName, Layer layer) {
            return type.isInstance(layer);
        }

        @Override
        public String describe() {
            return method(kind) + "(" + type.getSimpleName() + ".class)";
        }
    }

    /** Layers whose configuration satisfies a predicate. */
    record ByPredicate(LayerKind kind, Predicate<? super Layer> predicate) implements PrecisionRule {
        public ByPredicate {
            AmpException.ifNull(predicate, "predicate", "a predicate of layer configurations");
        }

        @Override
        public boolean matches(String layerName, Layer layer) {
            return predicate.test(layer);
        }

        @Override
        public String describe() {
            return method(kind) + "(predicate)";
        }
    }

    private static String method(LayerKind kind) {
        return kind == LayerKind.LOWER ? "lower" : "keepFull";
    }
}
