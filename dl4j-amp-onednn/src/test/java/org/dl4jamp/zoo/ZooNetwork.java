package org.dl4jamp.zoo;

import java.util.Arrays;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.zoo.model.AlexNet;
import org.deeplearning4j.zoo.model.Darknet19;
import org.deeplearning4j.zoo.model.FaceNetNN4Small2;
import org.deeplearning4j.zoo.model.InceptionResNetV1;
import org.deeplearning4j.zoo.model.LeNet;
import org.deeplearning4j.zoo.model.ResNet50;
import org.deeplearning4j.zoo.model.SimpleCNN;
import org.deeplearning4j.zoo.model.SqueezeNet;
import org.deeplearning4j.zoo.model.TextGenerationLSTM;
import org.deeplearning4j.zoo.model.TinyYOLO;
import org.deeplearning4j.zoo.model.UNet;
import org.deeplearning4j.zoo.model.VGG16;
import org.deeplearning4j.zoo.model.VGG19;
import org.deeplearning4j.zoo.model.Xception;
import org.deeplearning4j.zoo.model.YOLO2;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The networks of {@code deeplearning4j-zoo} 1.0.0-M2.1, with five classes, on images that are as small as each allows.
 * {@code NASNet} isn't among them: its {@code init()} throws in DL4J.
 */
enum ZooNetwork {
    ALEX_NET(224, Labels.CLASSES),
    DARKNET_19(64, Labels.CLASSES),
    FACE_NET(96, Labels.CLASSES),
    INCEPTION_RES_NET_V1(160, Labels.CLASSES),
    LE_NET(28, Labels.CLASSES),
    /** With weights after He: from the zoo's own weights stock DL4J's output is NaN. */
    RES_NET_50(224, Labels.CLASSES),
    /** Ends without an output layer. Programs put one on top, or bring their own errors. */
    SIMPLE_CNN(48, Labels.ERRORS),
    SQUEEZE_NET(64, Labels.CLASSES),
    TEXT_GENERATION_LSTM(10, Labels.CHARACTERS),
    TINY_YOLO(64, Labels.BOXES),
    U_NET(64, Labels.PIXELS),
    VGG_16(32, Labels.CLASSES),
    VGG_19(32, Labels.CLASSES),
    XCEPTION(71, Labels.CLASSES),
    YOLO_2(64, Labels.BOXES);

    /** The labels of a network. */
    enum Labels {
        CLASSES,
        PIXELS,
        CHARACTERS,
        BOXES,
        /** None: the gradient of the output is given. */
        ERRORS
    }

    static final int EXAMPLES = 2;

    private static final int CLASSES = 5;
    private static final int CHANNELS = 3;
    private static final int CHARACTERS_OF_TEXT = 20;
    /** Pixels of the image along each side of a cell of YOLO's grid. */
    private static final int CELL = 32;

    private static final Set<ZooNetwork> SMALL = Set.of(LE_NET, SIMPLE_CNN, SQUEEZE_NET, TEXT_GENERATION_LSTM);

    private final int size;
    private final Labels labels;

    ZooNetwork(int size, Labels labels) {
        this.size = size;
        this.labels = labels;
    }

    private int[] image() {
        return new int[] {CHANNELS, size, size};
    }

    /** Returns those that train in a moment. */
    static Stream<ZooNetwork> small() {
        return Arrays.stream(values()).filter(SMALL::contains);
    }

    /** Returns the others. */
    static Stream<ZooNetwork> large() {
        return Arrays.stream(values()).filter(each -> !SMALL.contains(each));
    }

    /** Returns the network with the zoo's initial weights. */
    Model network() {
        return switch (this) {
            case ALEX_NET -> AlexNet.builder().numClasses(CLASSES).build().init();
            case DARKNET_19 ->
                Darknet19.builder()
                        .numClasses(CLASSES)
                        .inputShape(image())
                        .build()
                        .init();
            case FACE_NET ->
                FaceNetNN4Small2.builder().numClasses(CLASSES).build().init();
            case INCEPTION_RES_NET_V1 ->
                InceptionResNetV1.builder().numClasses(CLASSES).build().init();
            case LE_NET -> LeNet.builder().numClasses(CLASSES).build().init();
            case RES_NET_50 ->
                ResNet50.builder()
                        .weightInit(WeightInit.RELU.getWeightInitFunction())
                        .numClasses(CLASSES)
                        .build()
                        .init();
            case SIMPLE_CNN -> SimpleCNN.builder().numClasses(CLASSES).build().init();
            case SQUEEZE_NET ->
                SqueezeNet.builder()
                        .numClasses(CLASSES)
                        .inputShape(image())
                        .build()
                        .init();
            case TINY_YOLO ->
                TinyYOLO.builder()
                        .numClasses(CLASSES)
                        .inputShape(image())
                        .build()
                        .init();
            case VGG_16 ->
                VGG16.builder().numClasses(CLASSES).inputShape(image()).build().init();
            case VGG_19 ->
                VGG19.builder().numClasses(CLASSES).inputShape(image()).build().init();
            case XCEPTION ->
                Xception.builder()
                        .numClasses(CLASSES)
                        .inputShape(image())
                        .build()
                        .init();
            case YOLO_2 ->
                YOLO2.builder().numClasses(CLASSES).inputShape(image()).build().init();
            case TEXT_GENERATION_LSTM ->
                TextGenerationLSTM.builder()
                        .totalUniqueCharacters(CHARACTERS_OF_TEXT)
                        .inputShape(new int[] {size, CHARACTERS_OF_TEXT})
                        .build()
                        .init();
            case U_NET -> UNet.builder().inputShape(image()).build().init();
        };
    }

    Labels labels() {
        return labels;
    }

    /** Returns a random batch; without labels it has the gradient of the output in their place. */
    DataSet batch() {
        Random random = new Random(7);
        if (this == TEXT_GENERATION_LSTM) {
            return new DataSet(characters(random), characters(random));
        }
        INDArray features = this == LE_NET
                ? uniform(random, EXAMPLES, (long) size * size)
                : uniform(random, EXAMPLES, CHANNELS, size, size);
        return new DataSet(
                features,
                switch (labels) {
                    case CLASSES -> classes(random);
                    case PIXELS ->
                        uniform(random, EXAMPLES, 1, size, size).gt(0.5).castTo(DataType.FLOAT);
                    case BOXES -> boxes();
                    case ERRORS -> uniform(random, EXAMPLES, CLASSES);
                    case CHARACTERS -> throw new IllegalStateException(this + " has no images");
                });
    }

    private static INDArray uniform(Random random, long... shape) {
        INDArray array = Nd4j.create(DataType.FLOAT, shape);
        for (long i = 0; i < array.length(); i++) {
            array.putScalar(i, random.nextFloat());
        }
        return array;
    }

    private static INDArray classes(Random random) {
        INDArray classes = Nd4j.create(DataType.FLOAT, EXAMPLES, CLASSES);
        for (int i = 0; i < EXAMPLES; i++) {
            classes.putScalar(i, random.nextInt(CLASSES), 1);
        }
        return classes;
    }

    private INDArray characters(Random random) {
        INDArray text = Nd4j.create(DataType.FLOAT, EXAMPLES, CHARACTERS_OF_TEXT, size);
        for (int i = 0; i < EXAMPLES; i++) {
            for (int step = 0; step < size; step++) {
                text.putScalar(i, random.nextInt(CHARACTERS_OF_TEXT), step, 1);
            }
        }
        return text;
    }

    /** One box in each image: left, top, right and bottom in cells, then the class, at the cell of its centre. */
    private INDArray boxes() {
        int cells = size / CELL;
        INDArray boxes = Nd4j.create(DataType.FLOAT, EXAMPLES, 4 + CLASSES, cells, cells);
        for (int i = 0; i < EXAMPLES; i++) {
            double[] corners = {0.2, 0.3, 1.1, 0.9 + 0.2 * i};
            for (int corner = 0; corner < corners.length; corner++) {
                boxes.putScalar(new int[] {i, corner, 0, 0}, corners[corner]);
            }
            boxes.putScalar(new int[] {i, 4 + i, 0, 0}, 1);
        }
        return boxes;
    }
}
