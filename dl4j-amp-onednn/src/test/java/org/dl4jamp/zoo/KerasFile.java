package org.dl4jamp.zoo;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.hdf5.Attribute;
import org.bytedeco.hdf5.DataSet;
import org.bytedeco.hdf5.DataSpace;
import org.bytedeco.hdf5.DataType;
import org.bytedeco.hdf5.Group;
import org.bytedeco.hdf5.H5File;
import org.bytedeco.hdf5.H5Object;
import org.bytedeco.hdf5.PredType;
import org.bytedeco.hdf5.StrType;
import org.bytedeco.hdf5.global.hdf5;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Pointer;
import org.deeplearning4j.nn.modelimport.keras.Hdf5Archive;

/**
 * A file as {@code model.save("network.h5")} of Keras 2 with TensorFlow writes it, without the state of the optimizer:
 * descriptions are attributes of the root, weights are data sets of {@code model_weights/layer/path/name:0}.
 */
final class KerasFile {
    private static final String KERAS = "2.4.3";
    private static final String BACKEND = "tensorflow";

    /**
     * One array of weights.
     *
     * @param path of the group inside that of its layer, as in {@code bidirectional/forward_lstm}
     * @param name that Keras gives to it, such as {@code kernel}
     * @param values in C order
     */
    record Weight(String layer, String path, String name, List<Long> shape, List<Float> values) {
        private String fullName() {
            return path + "/" + name + ":0";
        }
    }

    private KerasFile() {}

    /**
     * Writes a file.
     *
     * @param model JSON of the network's configuration
     * @param training JSON of loss and optimizer
     * @param layers the names of all layers
     */
    static void write(Path path, String model, String training, List<String> layers, List<Weight> weights) {
        synchronized (Hdf5Archive.LOCK_OBJECT) {
            try (H5File file = new H5File(path.toString(), hdf5.H5F_ACC_TRUNC())) {
                write(file, "keras_version", KERAS);
                write(file, "backend", BACKEND);
                write(file, "model_config", model);
                write(file, "training_config", training);
                try (Group root = file.createGroup("model_weights")) {
                    write(root, "keras_version", KERAS);
                    write(root, "backend", BACKEND);
                    write(root, "layer_names", layers);
                    for (String layer : layers) {
                        List<Weight> own = weights.stream()
                                .filter(weight -> weight.layer().equals(layer))
                                .toList();
                        writeLayer(root, layer, own);
                    }
                }
            }
        }
    }

    private static void writeLayer(Group root, String layer, List<Weight> weights) {
        try (Group group = root.createGroup(layer)) {
            write(group, "weight_names", weights.stream().map(Weight::fullName).toList());
            for (Weight weight : weights) {
                String path = "";
                for (String part : weight.path().split("/", -1)) {
                    path = path.isEmpty() ? part : path + "/" + part;
                    if (!group.nameExists(path)) {
                        group.createGroup(path).close();
                    }
                }
                write(group, weight);
            }
        }
    }

    private static void write(Group group, Weight weight) {
        long[] shape = weight.shape().stream().mapToLong(Long::longValue).toArray();
        try (DataSpace space = new DataSpace(shape.length, shape);
                DataType type = new DataType(PredType.NATIVE_FLOAT());
                DataSet set = group.createDataSet(weight.fullName(), type, space);
                FloatPointer values = new FloatPointer(weight.values().size())) {
            for (int i = 0; i < weight.values().size(); i++) {
                values.put(i, weight.values().get(i));
            }
            set.write((Pointer) values, type);
        }
    }

    private static void write(H5Object owner, String name, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        try (DataSpace space = new DataSpace()) {
            write(owner, name, bytes, bytes.length, space);
        }
    }

    /** Writes texts of one length, filled with zeros at their ends, as h5py does. */
    private static void write(H5Object owner, String name, List<String> texts) {
        int length = texts.stream().mapToInt(String::length).max().orElse(1);
        byte[] bytes = new byte[length * texts.size()];
        for (int i = 0; i < texts.size(); i++) {
            byte[] text = texts.get(i).getBytes(StandardCharsets.UTF_8);
            System.arraycopy(text, 0, bytes, i * length, text.length);
        }
        try (DataSpace space = new DataSpace(1, new long[] {texts.size()})) {
            write(owner, name, bytes, length, space);
        }
    }

    private static void write(H5Object owner, String name, byte[] bytes, long length, DataSpace space) {
        try (StrType type = new StrType(PredType.C_S1(), length);
                BytePointer pointer = new BytePointer(Arrays.copyOf(bytes, bytes.length + 1))) {
            type.setStrpad(hdf5.H5T_STR_NULLPAD);
            try (Attribute attribute = owner.createAttribute(name, type, space)) {
                if (bytes.length > 0) {
                    attribute.write(type, (Pointer) pointer);
                }
            }
        }
    }
}
