package org.dl4jamp.life;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Nesterovs;

/** Layers that keep their parameters, behind one that goes on learning and in front of all that do. */
class FrozenLayersTest {
    private record Freezer(String name, UnaryOperator<Layer> around) {
        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Arguments> everywhere() {
        return Kind.everywhere().flatMap(each -> Stream.of(
                        new Freezer("FrozenLayer", FrozenLayer::new),
                        new Freezer("FrozenLayerWithBackprop", FrozenLayerWithBackprop::new))
                .map(freezer -> Arguments.of(each.get()[0], each.get()[1], freezer)));
    }

    /**
     * A {@link FrozenLayer} stops the gradient, so it comes first; the other one lets it through to the layer before.
     */
    private static Model network(Kind kind, Freezer freezer) {
        Layer first = Networks.dense(32, Activation.TANH);
        Layer second = Networks.dense(24, Activation.RELU);
        boolean stopsGradient = freezer.around.apply(second) instanceof FrozenLayer;
        Layer frozenFirst = stopsGradient ? freezer.around.apply(first) : first;
        Layer frozenSecond = stopsGradient ? second : freezer.around.apply(second);
        if (kind == Kind.MULTI_LAYER) {
            return Networks.init(Networks.builder(new Nesterovs(0.05, 0.9))
                    .list()
                    .layer(frozenFirst)
                    .layer(frozenSecond)
                    .layer(Networks.softmax(3))
                    .setInputType(InputType.feedForward(20))
                    .build());
        }
        return Networks.init(Networks.builder(new Nesterovs(0.05, 0.9))
                .graphBuilder()
                .addInputs("in")
                .setInputTypes(InputType.feedForward(20))
                .addLayer("0", frozenFirst, "in")
                .addLayer("1", frozenSecond, "0")
                .addLayer("2", Networks.softmax(3), "1")
                .setOutputs("2")
                .build());
    }

    private static INDArray weights(Model network, int layer) {
        return network instanceof MultiLayerNetwork layers
                ? layers.getLayer(layer).params()
                : ((ComputationGraph) network).getLayer(String.valueOf(layer)).params();
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void frozenLayersKeepTheirParametersAndTheOthersLearnAsInFp32(Kind kind, Side side, Freezer freezer) {
        Model fp32 = network(kind, freezer);
        Model mixed = network(kind, freezer);
        int frozen = freezer.around.apply(Networks.dense(1, Activation.TANH)) instanceof FrozenLayer ? 0 : 1;
        INDArray before = mixed.params().dup();
        INDArray kept = weights(mixed, frozen).dup();
        INDArray other = weights(mixed, 1 - frozen).dup();
        MixedPrecision amp = side.enable(mixed);
        for (int i = 0; i < 4; i++) {
            Kind.fit(fp32, Kind.data());
            Kind.fit(mixed, Kind.data());
        }
        assertEquals(4, amp.stepsTaken());
        assertEquals(kept, weights(mixed, frozen));
        assertFalse(other.equals(weights(mixed, 1 - frozen)));
        side.assertLearnedAlike(before, fp32, mixed);
        amp.close();
        assertEquals(kept, weights(mixed, frozen));
    }
}
