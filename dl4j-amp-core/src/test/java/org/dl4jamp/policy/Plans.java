package org.dl4jamp.policy;

import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.dl4jamp.config.PrecisionRule;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Small networks and the plans made for them. */
final class Plans {
    private Plans() {}

    /**
     * An engine that can do everything but layers of one class.
     *
     * @param keepsLoss whether it multiplies in output layers and keeps their loss in FP32
     */
    record Engine(Class<? extends Layer> incapableOf, boolean keepsLoss) implements EngineAbility {
        static final Engine ABLE = new Engine(null);
        static final Engine KEEPING_LOSS = new Engine(null, true);

        Engine(Class<? extends Layer> incapableOf) {
            this(incapableOf, false);
        }

        @Override
        public String name() {
            return "test";
        }

        @Override
        public Optional<String> cannot(Layer layer, Precision precision) {
            return incapableOf != null && incapableOf.isInstance(layer)
                    ? Optional.of("no kernel for " + precision)
                    : Optional.empty();
        }

        @Override
        public boolean keepsLossInFloat(Layer output, Precision precision) {
            return keepsLoss;
        }

        @Override
        public String how(Layer layer, Precision precision) {
            return "products in FP32, rounded once";
        }
    }

    static PrecisionPlan plan(NetworkGraph graph, PrecisionRule... rules) {
        return plan(graph, OptLevel.O1, rules);
    }

    static PrecisionPlan plan(NetworkGraph graph, OptLevel level, PrecisionRule... rules) {
        return PrecisionPlanner.plan(graph, Precision.HALF, level, List.of(rules), Engine.ABLE, null);
    }

    static NetworkGraph chain(Layer... layers) {
        return NetworkGraph.of(configuration(layers));
    }

    static MultiLayerConfiguration configuration(Layer... layers) {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder().list();
        for (Layer layer : layers) {
            list.layer(layer);
        }
        return list.validateOutputLayerConfig(false).build();
    }

    static GraphBuilder graph(String... inputs) {
        return new NeuralNetConfiguration.Builder()
                .graphBuilder()
                .addInputs(inputs)
                .allowDisconnected(true)
                .validateOutputLayerConfig(false);
    }

    static NetworkGraph built(GraphBuilder builder) {
        return NetworkGraph.of(builder.build());
    }

    static Layer dense(String name) {
        return new DenseLayer.Builder()
                .name(name)
                .nIn(4)
                .nOut(4)
                .activation(Activation.RELU)
                .build();
    }

    static Layer conv(String name) {
        return new ConvolutionLayer.Builder(3, 3)
                .name(name)
                .nIn(4)
                .nOut(4)
                .convolutionMode(ConvolutionMode.Same)
                .activation(Activation.IDENTITY)
                .build();
    }

    static Layer batchNorm(String name) {
        return new BatchNormalization.Builder().name(name).nIn(4).nOut(4).build();
    }

    static Layer output(String name) {
        return new OutputLayer.Builder(LossFunction.MCXENT)
                .name(name)
                .nIn(4)
                .nOut(4)
                .activation(Activation.SOFTMAX)
                .build();
    }
}
