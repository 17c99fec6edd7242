package org.dl4jamp.policy;

import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.InputPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.Cnn3DToFeedForwardPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.CnnToFeedForwardPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.CnnToRnnPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.ComposableInputPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.FeedForwardToCnn3DPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.FeedForwardToCnnPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.FeedForwardToRnnPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.RnnToCnnPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.RnnToFeedForwardPreProcessor;

/** Finds the preprocessors between layers that return HALF activations and gradients in the type of their input. */
final class PreProcessors {
    // Read one by one: each consists of dup, permute and reshape, forward and backward. None of DL4J's casts.
    private static final Set<Class<? extends InputPreProcessor>> TYPE_PRESERVING = Set.of(
            CnnToFeedForwardPreProcessor.class,
            Cnn3DToFeedForwardPreProcessor.class,
            CnnToRnnPreProcessor.class,
            FeedForwardToCnnPreProcessor.class,
            FeedForwardToCnn3DPreProcessor.class,
            FeedForwardToRnnPreProcessor.class,
            RnnToCnnPreProcessor.class,
            RnnToFeedForwardPreProcessor.class);

    // By name, because DL4J 1.0.0-M1.1 has them in its Keras import, which is not on the class path here.
    private static final Set<String> TYPE_PRESERVING_BY_NAME = Set.of(
            "org.deeplearning4j.preprocessors.KerasFlattenRnnPreprocessor",
            "org.deeplearning4j.preprocessors.PermutePreprocessor",
            "org.deeplearning4j.preprocessors.ReshapePreprocessor");

    // The preprocessors of the Keras import are of the same sort.
    private static final String KERAS_IMPORT = "org.deeplearning4j.nn.modelimport.keras.preprocessors";

    private PreProcessors() {}

    /**
     * Returns the reason for which a preprocessor's input must be FP32.
     *
     * @param preProcessor the preprocessor, null if there is none
     * @return empty if it takes any type
     */
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
                : Optional.of("dl4j-amp doesn't know the preprocessor " + type.getSimpleName());
    }

    static boolean preservesType(Class<?> type) {
        return TYPE_PRESERVING.contains(type)
                || TYPE_PRESERVING_BY_NAME.contains(type.getName())
                || type.getPackageName().equals(KERAS_IMPORT);
    }
}
