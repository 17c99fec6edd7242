package org.dl4jamp.onednn;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.MixedPrecision;
import org.dl4jamp.Networks;
import org.dl4jamp.onednn.primitive.OneDnnLibrary;
import org.nd4j.linalg.activations.Activation;
import org.slf4j.LoggerFactory;

/**
 * A program with the default configuration. It prints this CPU's support of BFLOAT16, the lines of the log, and the
 * plan.
 */
final class AutomaticChoice {
    private AutomaticChoice() {}

    /** Takes no arguments. */
    public static void main(String[] args) {
        Logger logger = (Logger) LoggerFactory.getLogger(MixedPrecision.class);
        logger.setLevel(Level.DEBUG);
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.start();
        logger.addAppender(lines);
        MultiLayerNetwork network = Networks.init(new NeuralNetConfiguration.Builder()
                .list()
                .layer(Networks.dense(2048, Activation.RELU))
                .layer(new OutputLayer.Builder()
                        .nOut(10)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.feedForward(1024))
                .build());
        try (MixedPrecision amp = MixedPrecision.enable(network)) {
            System.out.println("BFLOAT16: " + OneDnnLibrary.bfloat16());
            lines.list.forEach(line -> System.out.println(line.getLevel() + " " + line.getFormattedMessage()));
            System.out.println(amp.plan());
        }
    }
}
