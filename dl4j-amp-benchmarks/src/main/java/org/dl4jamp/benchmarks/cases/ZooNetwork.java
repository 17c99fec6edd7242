package org.dl4jamp.benchmarks.cases;

import java.util.Locale;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
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
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * The networks of DL4J's zoo with its own settings and updaters, on images of the zoo's own size, but for {@code UNet},
 * whose 512×512 pixels would take stock DL4J a minute. {@code NASNet} isn't among them: its {@code init()} throws.
 */
enum ZooNetwork {
    ALEXNET(224, 1000),
    DARKNET19(224, 1000),
    FACENET(96, 100),
    INCEPTIONRESNETV1(160, 100),
    LENET(28, 10),
    RESNET50(224, 1000),
    SIMPLECNN(48, 10),
    SQUEEZENET(227, 1000),
    TEXTGENERATION(50, 77),
    TINYYOLO(416, 20),
    UNET(128, 1),
    VGG_16(224, 1000),
    VGG_19(224, 1000),
    XCEPTION(299, 1000),
    YOLO_2(608, 80);

    private static final int CHANNELS = 3;
    /** Pixels of the image along each side of a cell of YOLO's grid. */
    private static final int CELL = 32;

    private static final int CORNERS = 4;

    private final int size;
    private final int classes;

    ZooNetwork(int size, int classes) {
        this.size = size;
        this.classes = classes;
    }

    String caseName() {
        return "zoo-" + name().toLowerCase(Locale.ROOT).replace("_", "");
    }

    String description() {
        return this == TEXTGENERATION ? size + " steps, " + classes + " characters" : size + "×" + size + " pixels";
    }

    NeuralNetwork network() {
        int[] image = {CHANNELS, size, size};
        Model network =
                switch (this) {
                    case ALEXNET ->
                        AlexNet.builder().numClasses(classes).build().init();
                    case DARKNET19 ->
                        Darknet19.builder().numClasses(classes).build().init();
                    case FACENET ->
                        FaceNetNN4Small2.builder().numClasses(classes).build().init();
                    case INCEPTIONRESNETV1 ->
                        InceptionResNetV1.builder().numClasses(classes).build().init();
                    case LENET -> LeNet.builder().numClasses(classes).build().init();
                    case RESNET50 ->
                        ResNet50.builder().numClasses(classes).build().init();
                    case SIMPLECNN ->
                        withLoss(SimpleCNN.builder().numClasses(classes).build().conf());
                    case SQUEEZENET ->
                        SqueezeNet.builder().numClasses(classes).build().init();
                    case TEXTGENERATION ->
                        TextGenerationLSTM.builder()
                                .totalUniqueCharacters(classes)
                                .inputShape(new int[] {size, classes})
                                .build()
                                .init();
                    case TINYYOLO ->
                        TinyYOLO.builder().numClasses(classes).build().init();
                    case UNET -> UNet.builder().inputShape(image).build().init();
                    case VGG_16 -> VGG16.builder().numClasses(classes).build().init();
                    case VGG_19 -> VGG19.builder().numClasses(classes).build().init();
                    case XCEPTION ->
                        Xception.builder().numClasses(classes).build().init();
                    case YOLO_2 -> YOLO2.builder().numClasses(classes).build().init();
                };
        return (NeuralNetwork) network;
    }

    /** The zoo's SimpleCNN ends in a softmax and has no loss, so DL4J can't train it as it is. */
    private static MultiLayerNetwork withLoss(MultiLayerConfiguration configuration) {
        NeuralNetConfiguration last = configuration.getConf(0).clone();
        last.setLayer(new LossLayer.Builder(LossFunction.MCXENT)
                .activation(Activation.IDENTITY)
                .build());
        configuration.getConfs().add(last);
        MultiLayerNetwork network = new MultiLayerNetwork(configuration);
        network.init();
        return network;
    }

    DataSet batch(int minibatch) {
        RandomBatch random = new RandomBatch(minibatch);
        return switch (this) {
            case TEXTGENERATION -> random.nextCharacters(size, classes);
            case LENET -> new DataSet(random.features((long) size * size), random.oneHot(classes));
            case UNET ->
                new DataSet(
                        random.images(CHANNELS, size),
                        random.images(1, size).gt(0).castTo(DataType.FLOAT));
            case TINYYOLO, YOLO_2 -> new DataSet(random.images(CHANNELS, size), boxes(minibatch));
            default -> new DataSet(random.images(CHANNELS, size), random.oneHot(classes));
        };
    }

    /**
     * One box in each image, [minibatch, 4 + classes, cells, cells]: left, top, right and bottom in cells, then the
     * class, at the cell of its centre.
     */
    private INDArray boxes(int minibatch) {
        int cells = size / CELL;
        float[][][][] labels = new float[minibatch][CORNERS + classes][cells][cells];
        for (int i = 0; i < minibatch; i++) {
            int row = (2 + i) % cells;
            int column = (3 + i) % cells;
            labels[i][0][row][column] = column - 1;
            labels[i][1][row][column] = row - 1;
            labels[i][2][row][column] = column + 1.6f;
            labels[i][3][row][column] = row + 1.4f;
            labels[i][CORNERS + i % classes][row][column] = 1;
        }
        return Nd4j.createFromArray(labels);
    }
}
