package org.dl4jamp.inspect.cost;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.InputPreProcessor;
import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.graph.ShiftVertex;
import org.deeplearning4j.nn.conf.graph.StackVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.layers.GravesBidirectionalLSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.PReLULayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.util.MaskLayer;
import org.deeplearning4j.nn.conf.preprocessor.CnnToFeedForwardPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.FeedForwardToCnnPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.RnnToCnnPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.RnnToFeedForwardPreProcessor;
import org.dl4jamp.policy.NetworkGraph;
import org.dl4jamp.policy.NetworkGraph.Node;

/** Tells a network input's shape from the layers that take it, and from those behind layers of any shape. */
final class FirstLayers {
    /** Layers and vertices whose output has their input's shape. */
    private static final Set<Class<?>> KEEPING_SIZE = Set.of(
            ActivationLayer.class,
            DropoutLayer.class,
            BatchNormalization.class,
            MaskLayer.class,
            PReLULayer.class,
            ElementWiseVertex.class,
            ScaleVertex.class,
            ShiftVertex.class,
            StackVertex.class);

    private final Map<String, List<Node>> consumers;
    private final int timesteps;

    FirstLayers(NetworkGraph graph, int timesteps) {
        this.consumers = graph.consumers();
        this.timesteps = timesteps;
    }

    /** Returns the type, empty if the layers leave a size open. */
    Optional<InputType> type(Node input) {
        return first(input, FirstLayers::keepsSize, this::type);
    }

    private Optional<InputType> type(Node node, Layer layer) {
        InputPreProcessor before = node.preProcessor();
        if (before instanceof FeedForwardToCnnPreProcessor images) {
            return Optional.of(
                    InputType.feedForward(images.getInputHeight() * images.getInputWidth() * images.getNumChannels()));
        }
        if (before instanceof CnnToFeedForwardPreProcessor images && images.getInputHeight() > 0) {
            return Optional.of(InputType.convolutional(
                    images.getInputHeight(), images.getInputWidth(), images.getNumChannels(), images.getFormat()));
        }
        if (before instanceof RnnToCnnPreProcessor frames) {
            int size = frames.getInputHeight() * frames.getInputWidth() * frames.getNumChannels();
            return Optional.of(InputType.recurrent(size, timesteps));
        }
        if (layer instanceof EmbeddingSequenceLayer embedding) {
            return Optional.of(
                    InputType.feedForward(embedding.isInferInputLength() ? timesteps : embedding.getInputLength()));
        }
        if (layer instanceof EmbeddingLayer) {
            return Optional.of(InputType.feedForward(1));
        }
        if (!(layer instanceof FeedForwardLayer sized) || sized.getNIn() <= 0 || layer instanceof BatchNormalization) {
            return Optional.empty();
        }
        if (sequence(node, layer).isPresent()) {
            return Optional.of(InputType.recurrent(
                    sized.getNIn(), timesteps, sequence(node, layer).get()));
        }
        return layer instanceof ConvolutionLayer
                ? Optional.empty()
                : Optional.of(InputType.feedForward(sized.getNIn()));
    }

    boolean takesSequences(Node input) {
        return first(input, FirstLayers::sequence).isPresent();
    }

    RNNFormat sequenceFormat(Node input) {
        return first(input, FirstLayers::sequence).orElse(RNNFormat.NCW);
    }

    private static Optional<RNNFormat> sequence(Node node, Layer layer) {
        if (node.preProcessor() instanceof RnnToFeedForwardPreProcessor rows) {
            return Optional.of(rows.getRnnDataFormat());
        }
        if (layer instanceof BaseRecurrentLayer recurrent) {
            return Optional.of(recurrent.getRnnDataFormat());
        }
        if (layer instanceof RnnOutputLayer output) {
            return Optional.of(output.getRnnDataFormat());
        }
        if (layer instanceof Convolution1DLayer convolution) {
            return Optional.of(convolution.getRnnDataFormat());
        }
        return layer instanceof GravesBidirectionalLSTM ? Optional.of(RNNFormat.NCW) : Optional.empty();
    }

    /** Returns the sizes of images or volumes as a user has to write them; empty if the input isn't such. */
    Optional<String> images(Node input) {
        return first(input, (node, layer) -> {
            if (layer instanceof Convolution3D convolution) {
                return Optional.of(convolution.getNIn() + ",DEPTH,HEIGHT,WIDTH");
            }
            return layer instanceof ConvolutionLayer convolution && !(layer instanceof Convolution1DLayer)
                    ? Optional.of(convolution.getNIn() + ",HEIGHT,WIDTH")
                    : Optional.empty();
        });
    }

    CNN2DFormat imageFormat(Node input) {
        return this.<CNN2DFormat>first(input, (node, layer) -> {
                    if (layer instanceof ConvolutionLayer convolution) {
                        return Optional.of(convolution.getCnn2dDataFormat());
                    }
                    return layer instanceof SubsamplingLayer pooling
                            ? Optional.of(pooling.getCnn2dDataFormat())
                            : Optional.empty();
                })
                .orElse(CNN2DFormat.NCHW);
    }

    Convolution3D.DataFormat volumeFormat(Node input) {
        return this.<Convolution3D.DataFormat>first(
                        input,
                        (node, layer) -> layer instanceof Convolution3D convolution
                                ? Optional.of(convolution.getDataFormat())
                                : Optional.empty())
                .orElse(Convolution3D.DataFormat.NCDHW);
    }

    /** Answers a question about a layer, and what it wraps. */
    private interface Question<T> {
        Optional<T> of(Node node, Layer layer);
    }

    private <T> Optional<T> first(Node from, Question<T> question) {
        return first(from, node -> true, question);
    }

    /** Returns the answer of the first layer that has one, past layers and vertices without inputs of a fixed size. */
    private <T> Optional<T> first(Node from, Predicate<Node> passes, Question<T> question) {
        return consumers.get(from.name()).stream()
                .map(node -> answer(node, passes, question))
                .flatMap(Optional::stream)
                .findFirst();
    }

    private <T> Optional<T> answer(Node node, Predicate<Node> passes, Question<T> question) {
        List<Layer> layers = node.layers();
        Optional<T> answer = layers.stream()
                .map(layer -> question.of(node, layer))
                .flatMap(Optional::stream)
                .findFirst();
        boolean fixed = layers.stream().anyMatch(FeedForwardLayer.class::isInstance)
                && layers.stream().noneMatch(BatchNormalization.class::isInstance);
        return answer.isPresent() || fixed || !passes.test(node) ? answer : first(node, passes, question);
    }

    private static boolean keepsSize(Node node) {
        return node.isLayer()
                ? KEEPING_SIZE.contains(node.layer().getClass())
                : KEEPING_SIZE.contains(node.vertex().getClass());
    }
}
