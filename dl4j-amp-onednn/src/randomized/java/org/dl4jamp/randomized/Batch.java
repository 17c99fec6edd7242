package org.dl4jamp.randomized;

import java.util.Arrays;
import java.util.List;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

/** A minibatch. Masks are null where there are none. */
final class Batch {
    private final INDArray[] features;
    private final INDArray[] labels;
    private final INDArray[] featureMasks;
    private final INDArray[] labelMasks;

    Batch(INDArray[] features, INDArray[] labels, INDArray[] featureMasks, INDArray[] labelMasks) {
        this.features = features;
        this.labels = labels;
        this.featureMasks = featureMasks;
        this.labelMasks = labelMasks;
    }

    INDArray[] features() {
        return features;
    }

    INDArray[] labels() {
        return labels;
    }

    INDArray[] featureMasks() {
        return featureMasks;
    }

    INDArray[] labelMasks() {
        return labelMasks;
    }

    private static INDArray[] copies(INDArray[] arrays) {
        return Arrays.stream(arrays)
                .map(array -> array == null ? null : array.dup())
                .toArray(INDArray[]::new);
    }

    /** Copies, since stock DL4J works in place on what it's given here and there. */
    Batch copy() {
        return new Batch(copies(features), copies(labels), copies(featureMasks), copies(labelMasks));
    }

    /** Returns the features with their first example last, without masks; labels stay. */
    Batch rotated() {
        INDArray[] rotated = Arrays.stream(features)
                .map(array -> array.size(0) == 1
                        ? array.dup()
                        : Nd4j.concat(0, part(array, 1, array.size(0)), part(array, 0, 1)))
                .toArray(INDArray[]::new);
        return new Batch(rotated, labels, new INDArray[features.length], new INDArray[labels.length]);
    }

    private static INDArray part(INDArray array, long from, long to) {
        return array.get(NDArrayIndex.interval(from, to)).dup();
    }

    MultiDataSet multiDataSet() {
        Batch copy = copy();
        return new MultiDataSet(
                copy.features, copy.labels, hasMasks() ? copy.featureMasks : null, hasMasks() ? copy.labelMasks : null);
    }

    DataSet dataSet() {
        Batch copy = copy();
        return new DataSet(copy.features[0], copy.labels[0], copy.featureMasks[0], copy.labelMasks[0]);
    }

    boolean hasMasks() {
        return hasAny(featureMasks) || hasAny(labelMasks);
    }

    private static boolean hasAny(INDArray[] arrays) {
        return Arrays.stream(arrays).anyMatch(array -> array != null);
    }

    /** Returns the examples of several batches in one. */
    static Batch merge(List<Batch> batches) {
        return new Batch(
                together(batches.stream().map(Batch::features).toList()),
                together(batches.stream().map(Batch::labels).toList()),
                together(batches.stream().map(Batch::featureMasks).toList()),
                together(batches.stream().map(Batch::labelMasks).toList()));
    }

    private static INDArray[] together(List<INDArray[]> arrays) {
        INDArray[] merged = new INDArray[arrays.get(0).length];
        for (int i = 0; i < merged.length; i++) {
            int position = i;
            if (arrays.get(0)[i] != null) {
                merged[i] = Nd4j.concat(
                        0, arrays.stream().map(list -> list[position]).toArray(INDArray[]::new));
            }
        }
        return merged;
    }
}
