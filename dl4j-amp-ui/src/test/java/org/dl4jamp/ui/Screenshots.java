package org.dl4jamp.ui;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.LongStream;
import org.deeplearning4j.core.storage.StatsStorage;
import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode;
import org.deeplearning4j.ui.model.storage.InMemoryStatsStorage;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.parallel.AmpReplicas;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

/**
 * Pictures of the tab while a network trains, in target/screenshots. Its name keeps it out of a build: it is run by its
 * name, and docs/images has one of its pictures.
 */
@Tag("long")
class Screenshots {
    private static final Path FOLDER = Path.of("target", "screenshots");
    private static final int HIDDEN = 6;
    private static final int LAPTOP_HEIGHT = 768;
    /** Height of the picture in docs/images. */
    private static final int DOWN_TO_THE_MAPS = 900;

    /** The loss scale begins far too small, so that gradients underflow, and grows until it is too large. */
    private static final AmpConfig CONFIG = Training.half(0x1p-4, 12).build();

    /** Returns a network of sigmoids, through which gradients get smaller from layer to layer. */
    private static MultiLayerNetwork network() {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder()
                .seed(1)
                .updater(new Adam(3e-3))
                .list();
        for (int i = 1; i <= HIDDEN; i++) {
            list.layer(new DenseLayer.Builder()
                    .name("hidden" + i)
                    .nOut(64)
                    .activation(i == HIDDEN ? Activation.TANH : Activation.SIGMOID)
                    .build());
        }
        list.layer(new OutputLayer.Builder()
                .name("probabilities")
                .nOut(Training.CLASSES)
                .activation(Activation.SOFTMAX)
                .build());
        MultiLayerNetwork network = new MultiLayerNetwork(
                list.setInputType(InputType.feedForward(Training.FEATURES)).build());
        network.init();
        return network;
    }

    @Test
    void aTrainingOnALaptopAndOnAPhone() throws IOException {
        InMemoryStatsStorage storage = new InMemoryStatsStorage();
        try (Browser browser = Browser.open();
                AmpUi ui = AmpUi.builder().port(0).start().attach(storage);
                LiveTraining training = new LiveTraining(network(), CONFIG, storage, "sigmoids", 10)) {
            browser.resize(Browser.LAPTOP, LAPTOP_HEIGHT);
            browser.go(ui.address());
            browser.until(() -> browser.number("#tile-skipped .value") > 3, 120);
            browser.screenshot(FOLDER.resolve("laptop.png"));
            browser.resize(Browser.LAPTOP, DOWN_TO_THE_MAPS);
            browser.screenshot(FOLDER.resolve("ui.png"));
            takeWhole(browser, "laptop-whole.png", Browser.LAPTOP);
            takeWhole(browser, "phone-whole.png", Browser.PHONE);
            browser.resize(Browser.PHONE);
            browser.screenshot(FOLDER.resolve("phone.png"));
        }
    }

    @Test
    void twoReplicasOfAParallelWrapper() throws Exception {
        InMemoryStatsStorage storage = new InMemoryStatsStorage();
        try (Browser browser = Browser.open();
                AmpUi ui = AmpUi.builder().port(0).start().attach(storage)) {
            browser.go(ui.address());
            browser.resize(Browser.LAPTOP, LAPTOP_HEIGHT);
            browser.until(() -> browser.isShown("#empty"));
            browser.screenshot(FOLDER.resolve("empty.png"));
            train(storage);
            browser.until(() -> browser.count("#workers tr.choice") == 2);
            takeWhole(browser, "replicas-laptop.png", Browser.LAPTOP);
            takeWhole(browser, "replicas-phone.png", Browser.PHONE);
        }
    }

    private static void train(StatsStorage storage) throws Exception {
        List<DataSet> batches =
                LongStream.range(0, 300).mapToObj(Training::batch).toList();
        try (ParallelWrapper wrapper = new ParallelWrapper.Builder<>(network())
                        .workers(2)
                        .trainingMode(TrainingMode.AVERAGING)
                        .averagingFrequency(1)
                        .build();
                AmpReplicas amp =
                        AmpReplicas.installIn(wrapper, Training.half(0x1p22, 12).build())) {
            wrapper.setListeners(storage, new MixedPrecisionStatsListener(null, 2, "replicas", "source"));
            wrapper.fit(new ExistingDataSetIterator(batches));
        }
    }

    private static void takeWhole(Browser browser, String name, int width) throws IOException {
        browser.resize(width);
        browser.until(browser::isDrawnAtItsWidth);
        browser.resize(width, Math.toIntExact(browser.contentHeight()));
        browser.screenshot(FOLDER.resolve(name));
    }
}
