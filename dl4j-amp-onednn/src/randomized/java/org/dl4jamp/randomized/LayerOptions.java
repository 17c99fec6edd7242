package org.dl4jamp.randomized;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.deeplearning4j.nn.api.layers.LayerConstraint;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.constraint.MaxNormConstraint;
import org.deeplearning4j.nn.conf.constraint.MinMaxNormConstraint;
import org.deeplearning4j.nn.conf.constraint.NonNegativeConstraint;
import org.deeplearning4j.nn.conf.constraint.UnitNormConstraint;
import org.deeplearning4j.nn.conf.distribution.NormalDistribution;
import org.deeplearning4j.nn.conf.dropout.AlphaDropout;
import org.deeplearning4j.nn.conf.dropout.Dropout;
import org.deeplearning4j.nn.conf.dropout.GaussianDropout;
import org.deeplearning4j.nn.conf.dropout.GaussianNoise;
import org.deeplearning4j.nn.conf.dropout.IDropout;
import org.deeplearning4j.nn.conf.dropout.SpatialDropout;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.nn.conf.layers.BasePretrainNetwork;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.PReLULayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.samediff.AbstractSameDiffLayer;
import org.deeplearning4j.nn.conf.layers.wrapper.BaseWrapperLayer;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.conf.weightnoise.WeightNoise;
import org.nd4j.linalg.learning.regularization.L1Regularization;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.nd4j.linalg.learning.regularization.Regularization;
import org.nd4j.linalg.learning.regularization.WeightDecay;

/** Settings that layers of all kinds may have. */
final class LayerOptions {
    private final Scenario scenario;
    private final Draw draw;

    LayerOptions(Scenario scenario, Draw draw) {
        this.scenario = scenario;
        this.draw = draw;
    }

    /** Gives an output or loss layer settings. */
    Layer applyToHead(Layer layer, InputType type) {
        set(layer, type, draw.seed());
        return layer;
    }

    /** Gives a layer settings, and freezes it perhaps. */
    Layer apply(Layer layer, InputType type) {
        set(layer, type, draw.seed());
        if (scenario.has(Option.FROZEN) && !(layer instanceof BasePretrainNetwork) && draw.chance(0.4)) {
            // Stock graphs can't train layers in front of one without a gradient of its input. In other networks the
            // last step's updates are left there for gradients, and those depend on the steps that were made. Clipping
            // takes them for gradients, too; the clipping of stock DL4J here takes those that a pass has computed.
            boolean comparable = !scenario.graph() && !scenario.makesOtherSteps() && !scenario.changesGradients();
            if (draw.chance(0.5) && comparable) {
                return new FrozenLayer(layer);
            }
            return computesAsInTraining(layer) ? new FrozenLayerWithBackprop(layer) : layer;
        }
        return layer;
    }

    /**
     * Returns false for layers that can't train behind a forward pass in inference mode, which frozen ones have. Batch
     * normalization's backward pass then reads arrays that don't exist. Activation layers overwrite the input of the
     * backward pass in front of them.
     */
    private static boolean computesAsInTraining(Layer layer) {
        return !(layer instanceof BatchNormalization)
                && !(layer instanceof ActivationLayer)
                && !(layer instanceof PReLULayer);
    }

    private void set(Layer layer, InputType type, long seed) {
        if (layer instanceof BaseWrapperLayer wrapper) {
            set(wrapper.getUnderlying(), type, seed);
        } else if (layer instanceof Bidirectional both) {
            // Both directions have the same settings.
            set(both.getFwd(), type, seed);
            set(both.getBwd(), type, seed);
        } else {
            set(new Draw(seed), layer, type);
        }
    }

    private void set(Draw own, Layer layer, InputType type) {
        if (scenario.has(Option.DROPOUT) && own.chance(0.5)) {
            layer.setIDropout(dropout(own, type));
        }
        if (layer instanceof BaseLayer base) {
            set(own, base);
        } else if (layer instanceof AbstractSameDiffLayer graph) {
            set(own, graph);
        }
    }

    private static IDropout dropout(Draw own, InputType type) {
        boolean planes = type.getType() == InputType.Type.CNN || type.getType() == InputType.Type.RNN;
        return switch (own.between(0, planes ? 4 : 3)) {
            case 0 -> new Dropout(own.real(0.5, 0.9));
            case 1 -> new GaussianDropout(own.real(0.1, 0.5));
            case 2 -> new GaussianNoise(own.real(0.05, 0.3));
            case 3 -> new AlphaDropout(own.real(0.5, 0.9));
            default -> new SpatialDropout(own.real(0.5, 0.9));
        };
    }

    private void set(Draw own, BaseLayer layer) {
        if (!(layer instanceof BatchNormalization)) {
            layer.setBiasInit(own.real(-0.2, 0.2));
        }
        // Convolutions add noise to a bias that they don't have.
        boolean noisy = !(layer instanceof ConvolutionLayer convolution) || convolution.hasBias();
        if (scenario.has(Option.WEIGHT_NOISE) && noisy && own.chance(0.5)) {
            // In inference DL4J has no workspace for the noisy biases of an output layer, which it draws there, too.
            boolean biases = own.chance(0.3) && !(layer instanceof BaseOutputLayer);
            layer.setWeightNoise(
                    own.chance(0.5)
                            ? new DropConnect(own.real(0.5, 0.9), biases)
                            : new WeightNoise(new NormalDistribution(0, 0.1), biases, own.chance(0.7)));
        }
        if (scenario.has(Option.REGULARIZATION) && own.chance(0.7)) {
            layer.setRegularization(regularization(own));
            layer.setRegularizationBias(own.chance(0.5) ? regularization(own) : new ArrayList<>());
        }
        if (scenario.has(Option.GRADIENT_NORMALIZATION) && own.chance(0.7)) {
            layer.setGradientNormalization(own.of(GradientNormalization.values()));
            layer.setGradientNormalizationThreshold(own.real(0.05, 1));
        }
        if (scenario.has(Option.CONSTRAINTS) && own.chance(0.7)) {
            layer.setConstraints(constraints(own, layer));
        }
        if (scenario.has(Option.SEVERAL_UPDATERS)) {
            if (own.chance(0.4)) {
                layer.setIUpdater(own.of(Updaters.values()).make(own, scenario.has(Option.SCHEDULE)));
            }
            if (own.chance(0.3)) {
                layer.setBiasUpdater(own.of(Updaters.values()).make(own, false));
            }
        }
    }

    private void set(Draw own, AbstractSameDiffLayer layer) {
        if (scenario.has(Option.REGULARIZATION) && own.chance(0.7)) {
            layer.setRegularization(regularization(own));
            layer.setRegularizationBias(own.chance(0.5) ? regularization(own) : new ArrayList<>());
        }
        if (scenario.has(Option.GRADIENT_NORMALIZATION) && own.chance(0.7)) {
            layer.setGradientNormalization(own.of(GradientNormalization.values()));
            layer.setGradientNormalizationThreshold(own.real(0.05, 1));
        }
        if (scenario.has(Option.SEVERAL_UPDATERS) && own.chance(0.4)) {
            layer.setUpdater(own.of(Updaters.values()).make(own, scenario.has(Option.SCHEDULE)));
        }
    }

    private List<Regularization> regularization(Draw own) {
        List<Regularization> terms = new ArrayList<>();
        // Constraints leave numbers at zero, where rounding decides on the sign that L1 adds.
        if (own.chance(0.5) && !scenario.has(Option.CONSTRAINTS)) {
            terms.add(new L1Regularization(own.real(0.001, 0.05)));
        }
        if (own.chance(0.5)) {
            terms.add(new L2Regularization(own.real(0.001, 0.1)));
        } else if (own.chance(0.7)) {
            terms.add(new WeightDecay(own.real(0.001, 0.1), own.chance(0.5)));
        }
        return terms;
    }

    /** Norms over the inputs of dense layers; for others whatever needs no axes. */
    private static List<LayerConstraint> constraints(Draw own, BaseLayer layer) {
        LayerConstraint constraint = !(layer instanceof DenseLayer)
                ? new NonNegativeConstraint()
                : switch (own.between(0, 3)) {
                    case 0 -> new MaxNormConstraint(own.real(0.3, 1), 0);
                    case 1 -> new MinMaxNormConstraint(0.3, 0.8, own.real(0.5, 1), 0);
                    case 2 -> new UnitNormConstraint(0);
                    default -> new NonNegativeConstraint();
                };
        Set<String> weights = new HashSet<>(layer.initializer().weightKeys(layer));
        if (weights.isEmpty()) {
            return List.of();
        }
        constraint.setParams(weights);
        return List.of(constraint);
    }
}
