package org.dl4jamp.zoo;

import static org.dl4jamp.zoo.KerasModel.config;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.modelimport.keras.KerasModelImport;
import org.deeplearning4j.nn.modelimport.keras.exceptions.InvalidKerasConfigurationException;
import org.deeplearning4j.nn.modelimport.keras.exceptions.UnsupportedKerasConfigurationException;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Networks of Keras, written to files and imported by DL4J. Its importer has no layer of attention: {@code TEXT}, with
 * words and both directions, is here in place of it.
 */
enum KerasNetwork {
    PERCEPTRON {
        @Override
        KerasModel model() {
            KerasModel model = new KerasModel(false);
            model.add("Dense", "hidden", dense(24, "relu", "batch_input_shape", shape(FEATURES)));
            denseWeights(model, "hidden", FEATURES, 24);
            model.add("Dropout", "dropout", config("rate", 0.1, "noise_shape", null, "seed", null));
            model.add("Dense", "second", dense(16, "tanh"));
            denseWeights(model, "second", 24, 16);
            return classes(model, 16);
        }

        @Override
        INDArray features(Random random) {
            return gaussian(random, EXAMPLES, FEATURES);
        }
    },

    /**
     * Depthwise and separable convolutions, as in MobileNet and Xception: of the functional API, since DL4J's importer
     * throws at depthwise convolutions in a sequential model.
     */
    DEPTHWISE {
        @Override
        KerasModel model() {
            KerasModel model = stem();
            model.add("DepthwiseConv2D", "dw", depthwise(2, "linear"), "stem");
            depthwiseWeights(model, "dw", 6, 2);
            model.values("dw", "bias", 0, 0.1, 12);
            model.add("BatchNormalization", "normalization", normalization(), "dw");
            model.values("normalization", "gamma", 1, 0.1, 12)
                    .values("normalization", "beta", 0, 0.1, 12)
                    .values("normalization", "moving_mean", 0, 0.1, 12)
                    .values("normalization", "moving_variance", 1, 0.1, 12);
            model.add("Activation", "relu", config("activation", "relu"), "normalization");
            separable(model, 12, 8, "relu", "relu");
            model.add(
                    "MaxPooling2D",
                    "pooling",
                    config(
                            "pool_size",
                            List.of(2, 2),
                            "padding",
                            "valid",
                            "strides",
                            List.of(2, 2),
                            "data_format",
                            "channels_last"),
                    "separable");
            model.add("GlobalAveragePooling2D", "average", config("data_format", "channels_last"), "pooling");
            return classes(model, 8, "average");
        }

        @Override
        INDArray features(Random random) {
            return gaussian(random, EXAMPLES, SIZE, SIZE, CHANNELS);
        }
    },

    /** Convolutions whose sum and whose channels go on. The axis of the channels, the last one, is -1 in Keras. */
    BRANCHES {
        @Override
        KerasModel model() {
            KerasModel model = stem();
            separable(model, 6, 6, "linear", "stem");
            model.add("Add", "sum", config(), "stem", "separable");
            model.add("Activation", "relu", config("activation", "relu"), "sum");
            model.add("Concatenate", "both", config("axis", -1), "relu", "stem");
            model.add("Flatten", "flat", config("data_format", "channels_last"), "both");
            return classes(model, 12 * SIZE * SIZE, "flat");
        }

        @Override
        INDArray features(Random random) {
            return gaussian(random, EXAMPLES, SIZE, SIZE, CHANNELS);
        }
    },

    LSTM {
        @Override
        KerasModel model() {
            KerasModel model = new KerasModel(false);
            model.add("LSTM", "first", lstm("first", 12, true, "batch_input_shape", shape(STEPS, FEATURES)));
            lstmWeights(model, "first/lstm_cell", FEATURES, 12);
            model.add("LSTM", "second", lstm("second", 8, false));
            lstmWeights(model, "second/lstm_cell_1", 12, 8);
            return classes(model, 8);
        }

        @Override
        INDArray features(Random random) {
            return gaussian(random, EXAMPLES, STEPS, FEATURES);
        }
    },

    /** An embedding of words, and an LSTM in both directions over them. */
    TEXT {
        @Override
        KerasModel model() {
            KerasModel model = new KerasModel(false);
            model.add(
                    "Embedding",
                    "words",
                    config(
                            "batch_input_shape",
                            shape(STEPS),
                            "input_dim",
                            WORDS,
                            "output_dim",
                            FEATURES,
                            "embeddings_initializer",
                            INITIALIZER,
                            "mask_zero",
                            false,
                            "input_length",
                            STEPS));
            model.values("words", "embeddings", 0, 0.5, WORDS, FEATURES);
            Map<String, Object> inner = config("class_name", "LSTM", "config", lstm("lstm", 8, true));
            model.add("Bidirectional", "bidirectional", config("layer", inner, "merge_mode", "concat"));
            lstmWeights(model, "bidirectional/forward_lstm", FEATURES, 8);
            lstmWeights(model, "bidirectional/backward_lstm", FEATURES, 8);
            model.add("GlobalMaxPooling1D", "maximum", config("data_format", "channels_last"));
            return classes(model, 16);
        }

        @Override
        INDArray features(Random random) {
            INDArray words = Nd4j.create(DataType.FLOAT, EXAMPLES, STEPS);
            for (long i = 0; i < words.length(); i++) {
                words.putScalar(i, random.nextInt(WORDS));
            }
            return words;
        }
    };

    private static final int EXAMPLES = 6;
    private static final int FEATURES = 10;
    private static final int CLASSES = 3;
    private static final int SIZE = 8;
    private static final int CHANNELS = 3;
    private static final int STEPS = 7;
    private static final int WORDS = 30;
    private static final Map<String, Object> INITIALIZER =
            Map.of("class_name", "GlorotUniform", "config", Map.of("seed", 1));

    abstract KerasModel model();

    abstract INDArray features(Random random);

    /** Returns the network with loss and optimizer of its file. */
    Model network() throws IOException, InvalidKerasConfigurationException, UnsupportedKerasConfigurationException {
        Path file = Files.createTempFile("keras", ".h5");
        try {
            model().write(file);
            return model().isFunctional()
                    ? KerasModelImport.importKerasModelAndWeights(file.toString(), true)
                    : KerasModelImport.importKerasSequentialModelAndWeights(file.toString(), true);
        } finally {
            Files.delete(file);
        }
    }

    /**
     * Returns a network that stock DL4J can train, of the same function and parameters. It's the imported one, except
     * for images: there gradients of DL4J's layers throw. The importer gives each layer a dropout that keeps all, and
     * merges along axis -1.
     */
    Model reference() throws Exception {
        Model network = network();
        if (network instanceof ComputationGraph graph) {
            for (Layer layer : graph.getLayers()) {
                layer.conf().getLayer().setIDropout(null);
            }
            for (GraphVertex vertex : graph.getConfiguration().getVertices().values()) {
                if (vertex instanceof MergeVertex merge) {
                    merge.setMergeAxis(3);
                }
            }
            ComputationGraph trained = new ComputationGraph(graph.getConfiguration());
            trained.init(graph.params(), true);
            return trained;
        }
        return network;
    }

    /** Returns a random batch. */
    DataSet batch() {
        Random random = new Random(11);
        INDArray labels = Nd4j.create(DataType.FLOAT, EXAMPLES, CLASSES);
        for (int i = 0; i < EXAMPLES; i++) {
            labels.putScalar(i, random.nextInt(CLASSES), 1);
        }
        return new DataSet(features(random), labels);
    }

    private static INDArray gaussian(Random random, long... shape) {
        INDArray array = Nd4j.create(DataType.FLOAT, shape);
        for (long i = 0; i < array.length(); i++) {
            array.putScalar(i, random.nextGaussian());
        }
        return array;
    }

    private static List<Integer> shape(Integer... sizes) {
        Integer[] withBatch = new Integer[sizes.length + 1];
        System.arraycopy(sizes, 0, withBatch, 1, sizes.length);
        return Arrays.asList(withBatch);
    }

    private static Map<String, Object> with(Map<String, Object> config, Object... more) {
        config.putAll(config(more));
        return config;
    }

    private static Map<String, Object> dense(int units, String activation, Object... more) {
        Map<String, Object> config =
                config("units", units, "activation", activation, "use_bias", true, "kernel_initializer", INITIALIZER);
        return with(config, more);
    }

    private static void denseWeights(KerasModel model, String name, long in, long out) {
        model.weights(name, "kernel", in, in, out).values(name, "bias", 0, 0.1, out);
    }

    private static KerasModel classes(KerasModel model, long in, String... before) {
        model.add("Dense", "classes", dense(CLASSES, "softmax"), before);
        denseWeights(model, "classes", in, CLASSES);
        return model;
    }

    private static Map<String, Object> window(String activation, Object... more) {
        Map<String, Object> config = config(
                "kernel_size",
                List.of(3, 3),
                "strides",
                List.of(1, 1),
                "padding",
                "same",
                "data_format",
                "channels_last",
                "dilation_rate",
                List.of(1, 1),
                "activation",
                activation,
                "use_bias",
                true);
        return with(config, more);
    }

    /** Returns a model of images that begins with a convolution to 6 channels. */
    private static KerasModel stem() {
        KerasModel model = new KerasModel(true);
        model.add("InputLayer", "image", config("batch_input_shape", shape(SIZE, SIZE, CHANNELS), "sparse", false));
        model.add("Conv2D", "stem", window("relu", "filters", 6, "kernel_initializer", INITIALIZER), "image");
        return model.weights("stem", "kernel", 9 * CHANNELS, 3, 3, CHANNELS, 6).values("stem", "bias", 0, 0.1, 6);
    }

    private static Map<String, Object> depthwise(int multiplier, String activation) {
        return window(activation, "depth_multiplier", multiplier, "depthwise_initializer", INITIALIZER);
    }

    private static void separable(KerasModel model, int in, int out, String activation, String before) {
        Map<String, Object> config =
                with(depthwise(1, activation), "filters", out, "pointwise_initializer", INITIALIZER);
        model.add("SeparableConv2D", "separable", config, before);
        depthwiseWeights(model, "separable", in, 1);
        model.weights("separable", "pointwise_kernel", in, 1, 1, in, out).values("separable", "bias", 0, 0.1, out);
    }

    private static void depthwiseWeights(KerasModel model, String name, long in, long multiplier) {
        model.weights(name, "depthwise_kernel", 9, 3, 3, in, multiplier);
    }

    private static Map<String, Object> normalization() {
        return config("axis", List.of(3), "momentum", 0.9, "epsilon", 0.001, "center", true, "scale", true);
    }

    private static Map<String, Object> lstm(String name, int units, boolean sequences, Object... more) {
        Map<String, Object> config = config(
                "name",
                name,
                "return_sequences",
                sequences,
                "return_state",
                false,
                "go_backwards",
                false,
                "stateful",
                false,
                "unroll",
                false,
                "units",
                units,
                "activation",
                "tanh",
                "recurrent_activation",
                "sigmoid",
                "use_bias",
                true,
                "kernel_initializer",
                INITIALIZER,
                "recurrent_initializer",
                INITIALIZER,
                "unit_forget_bias",
                true,
                "dropout",
                0.0,
                "recurrent_dropout",
                0.0);
        return with(config, more);
    }

    private static void lstmWeights(KerasModel model, String path, long in, long units) {
        model.weights(path, "kernel", in, in, 4 * units)
                .weights(path, "recurrent_kernel", units, units, 4 * units)
                .values(path, "bias", 0, 0.1, 4 * units);
    }
}
