package org.dl4jamp.policy;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.InputPreProcessor;
import org.deeplearning4j.nn.conf.graph.FrozenVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.LayerVertex;
import org.deeplearning4j.nn.conf.graph.PreprocessorVertex;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocallyConnected1D;
import org.deeplearning4j.nn.conf.layers.LocallyConnected2D;
import org.deeplearning4j.nn.conf.layers.PReLULayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.conf.layers.Subsampling3DLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.layers.misc.RepeatVector;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.deeplearning4j.nn.conf.layers.wrapper.BaseWrapperLayer;
import org.deeplearning4j.nn.conf.preprocessor.ComposableInputPreProcessor;
import org.dl4jamp.precision.LayerFamily;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.SensitiveActivation;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.IActivation;

/**
 * Classifies each layer and vertex of DL4J by its need for precision.
 *
 * <p>The kind of a class is in one table; activation function and kind of pooling can turn it into
 * {@link LayerKind#FULL}. Subclasses of DL4J's classes take the kind of the nearest class in the table, wrappers that
 * of the layer they wrap, and classes that are not DL4J's are FULL.
 */
final class LayerKinds {
    /**
     * DL4J's packages of preprocessors. Read one by one, none of their classes casts: each consists of dup, permute and
     * reshape, forward and backward. In 1.0.0-M1.1 those of the Keras import are in a package of their own.
     */
    private static final Set<String> PREPROCESSORS = Set.of(
            "org.deeplearning4j.nn.conf.preprocessor",
            "org.deeplearning4j.preprocessors",
            "org.deeplearning4j.nn.modelimport.keras.preprocessors");

    private LayerKinds() {}

    /** The kind of a layer or vertex, and why, in a few words, for the plan's last column. */
    record Verdict(LayerKind kind, String reason) {
        private static Verdict full(String reason) {
            return new Verdict(LayerKind.FULL, reason);
        }

        private static Verdict of(LayerFamily family, Optional<String> needsFloat) {
            return needsFloat.map(Verdict::full).orElse(new Verdict(family.kind(), family.reason()));
        }
    }

    /** Returns the kind of a layer without a rule at {@link OptLevel#O1} or above, and why. */
    static Verdict verdict(OptLevel level, Layer layer) {
        if (level == OptLevel.O1) {
            return verdict(layer);
        }
        // Layers that would be wrong in half precision, not just less precise, and unknown ones stay FP32.
        Verdict lower = new Verdict(LayerKind.LOWER, "opt level " + level);
        return switch (family(layer)) {
            case UNKNOWN, WRAPPER, FIXED_TYPE, LOSS, PRETRAINED -> verdict(layer);
            case OUTPUT, BATCH_NORM -> level == OptLevel.O2 ? verdict(layer) : lower;
            case PRODUCTS, LOOKUP -> lower;
            case STATISTICS, POOLING, ELEMENT_WISE, SHAPE ->
                overflow(layer)
                        .map(Verdict::full)
                        .orElse(new Verdict(LayerKind.FOLLOW, "follows its input (opt level " + level + ")"));
        };
    }

    /** Returns the kind of a layer at {@link OptLevel#O1}, and why. */
    static Verdict verdict(Layer layer) {
        Layer inner = innermost(layer);
        LayerFamily family = family(layer);
        if (family == LayerFamily.UNKNOWN) {
            return Verdict.full(unknown(inner.getClass()) + "; lower(...) asks for half precision");
        }
        Optional<String> needsFloat = family.kind() == LayerKind.FULL
                ? Optional.empty()
                : overflow(layer).or(() -> imprecision(inner));
        return Verdict.of(family, needsFloat);
    }

    private static Optional<String> imprecision(Layer inner) {
        if (activation(inner).filter(a -> a == SensitiveActivation.SOFTMAX).isPresent()) {
            return Optional.of(SensitiveActivation.SOFTMAX.reason());
        }
        // Sums over a whole image or time series: ND4J adds HALF values in HALF, where 2048 + 1 is 2048 (8192 ones
        // make 4096). A window of a subsampling layer has a handful of values, and a maximum adds nothing.
        return inner instanceof GlobalPoolingLayer && pooling(inner) != PoolingType.MAX
                ? Optional.of(LayerFamily.STATISTICS.reason())
                : Optional.empty();
    }

    /** Returns the kind of a vertex, and why; for a {@link LayerVertex}, that of its layer. */
    static Verdict verdict(GraphVertex vertex) {
        if (vertex instanceof LayerVertex layerVertex) {
            return verdict(layerVertex.getLayerConf().getLayer());
        }
        if (vertex instanceof FrozenVertex frozen) {
            return verdict(frozen.getUnderlying());
        }
        LayerFamily family = LayerTable.family(vertex.getClass());
        if (family == LayerFamily.UNKNOWN) {
            return Verdict.full(unknown(vertex.getClass()));
        }
        boolean preprocesses = vertex instanceof PreprocessorVertex;
        return Verdict.of(
                family, preprocesses ? needsFloat(((PreprocessorVertex) vertex).getPreProcessor()) : Optional.empty());
    }

    /** Returns the reason for which the input of a preprocessor must be FP32; empty for DL4J's own, and for null. */
    static Optional<String> needsFloat(InputPreProcessor preProcessor) {
        if (preProcessor == null) {
            return Optional.empty();
        }
        if (preProcessor.getClass() == ComposableInputPreProcessor.class) {
            return Stream.of(((ComposableInputPreProcessor) preProcessor).getInputPreProcessors())
                    .flatMap(one -> needsFloat(one).stream())
                    .findFirst();
        }
        Class<?> type = preProcessor.getClass();
        return preservesType(type)
                ? Optional.empty()
                : Optional.of("the preprocessor " + name(type) + " is unknown to dl4j-amp");
    }

    static boolean preservesType(Class<?> preProcessor) {
        return PREPROCESSORS.contains(preProcessor.getPackageName());
    }

    /** Returns the family of a layer, or of the innermost one that it wraps. Activation functions don't count. */
    static LayerFamily family(Layer layer) {
        LayerFamily family = LayerTable.family(innermost(layer).getClass());
        return family == LayerFamily.WRAPPER ? LayerFamily.UNKNOWN : family;
    }

    /** Returns a layer, the layer that it wraps, and so on: the outermost first. */
    static List<Layer> wrapping(Layer layer) {
        List<Layer> layers = new ArrayList<>();
        for (Layer l = layer; l != null; l = wrapped(l)) {
            layers.add(l);
        }
        return layers;
    }

    /** Returns what a frozen layer of DL4J's wraps, and any other layer itself. */
    static Layer frozen(Layer layer) {
        if (layer.getClass() == FrozenLayer.class) {
            return frozen(((FrozenLayer) layer).getLayer());
        }
        return layer.getClass() == FrozenLayerWithBackprop.class
                ? frozen(((FrozenLayerWithBackprop) layer).getUnderlying())
                : layer;
    }

    /** Returns whether a layer masks time steps that hold its masking value only. */
    static boolean masksByValue(Layer layer) {
        return wrapping(layer).stream().anyMatch(MaskZeroLayer.class::isInstance);
    }

    /** Returns the reason for which half precision would make a layer's results wrong, not just less precise. */
    static Optional<String> overflow(Layer layer) {
        Layer inner = innermost(layer);
        if (pooling(inner) == PoolingType.PNORM) {
            return Optional.of("powers of its input, in FP32");
        }
        if (inner instanceof GlobalPoolingLayer && pooling(inner) == PoolingType.SUM) {
            return Optional.of("a sum over all positions, in FP32");
        }
        if (family(layer).kind() == LayerKind.LOWER) {
            // Engines apply it to sums that are in FP32 anyway (EngineAbility.cannot), and it's no reason to give up
            // the products.
            return Optional.empty();
        }
        return activation(inner).filter(a -> a != SensitiveActivation.SOFTMAX).map(SensitiveActivation::reason);
    }

    private static Layer innermost(Layer layer) {
        List<Layer> layers = wrapping(layer);
        return layers.get(layers.size() - 1);
    }

    private static Layer wrapped(Layer layer) {
        if (layer instanceof BaseWrapperLayer wrapper) {
            return wrapper.getUnderlying();
        }
        if (layer instanceof Bidirectional bidirectional) {
            return bidirectional.getFwd();
        }
        return layer instanceof FrozenLayer frozen ? frozen.getLayer() : null;
    }

    private static Optional<SensitiveActivation> activation(Layer layer) {
        return SensitiveActivation.of(activationFunction(layer));
    }

    private static IActivation activationFunction(Layer layer) {
        // Builders give these an activation function that they don't use: the network's default.
        if (layer instanceof DropoutLayer || layer instanceof PReLULayer || layer instanceof RepeatVector) {
            return null;
        }
        if (layer instanceof BaseLayer base) {
            return base.getActivationFn();
        }
        if (layer instanceof ActivationLayer activation) {
            return activation.getActivationFn();
        }
        Activation named = null;
        if (layer instanceof LocallyConnected1D local) {
            named = local.getActivation();
        } else if (layer instanceof LocallyConnected2D local) {
            named = local.getActivation();
        } else if (layer instanceof RecurrentAttentionLayer attention) {
            named = attention.getActivation();
        }
        return named == null ? null : named.getActivationFunction();
    }

    /** Returns null if a layer has no kind of pooling. */
    private static PoolingType pooling(Layer layer) {
        if (layer instanceof GlobalPoolingLayer global) {
            return global.getPoolingType();
        }
        if (layer instanceof SubsamplingLayer subsampling) {
            return subsampling.getPoolingType();
        }
        return layer instanceof Subsampling3DLayer subsampling ? subsampling.getPoolingType() : null;
    }

    private static String unknown(Class<?> type) {
        return name(type) + " is unknown to dl4j-amp";
    }

    /** Returns the simple name of a class; an anonymous class has its full name only. */
    static String name(Class<?> type) {
        return type.getSimpleName().isEmpty() ? type.getName() : type.getSimpleName();
    }
}
