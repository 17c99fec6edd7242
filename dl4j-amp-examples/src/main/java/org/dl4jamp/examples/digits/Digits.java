package org.dl4jamp.examples.digits;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.zip.GZIPInputStream;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Handwritten digits of 8×8 pixels: the test part of the UCI set "Optical Recognition of Handwritten Digits" (E.
 * Alpaydin, C. Kaynak, 1998), whose source and licence are noted beside the data.
 */
public final class Digits {
    public static final int SIDE = 8;
    public static final int CLASSES = 10;

    private static final String RESOURCE = "digits.csv.gz";
    private static final float MAX_PIXEL = 16f;

    private final float[][][] images;
    private final int[] labels;

    private Digits(float[][][] images, int[] labels) {
        this.images = images;
        this.labels = labels;
    }

    /** Returns all 1,797 images, in the order of the file. */
    public static Digits load() {
        try (InputStream resource = Digits.class.getResourceAsStream(RESOURCE);
                BufferedReader lines = new BufferedReader(
                        new InputStreamReader(new GZIPInputStream(resource), StandardCharsets.US_ASCII))) {
            List<int[]> rows = lines.lines()
                    .map(line -> Arrays.stream(line.split(","))
                            .mapToInt(Integer::parseInt)
                            .toArray())
                    .toList();
            float[][][] images = new float[rows.size()][SIDE][SIDE];
            int[] labels = new int[rows.size()];
            for (int i = 0; i < labels.length; i++) {
                int[] row = rows.get(i);
                for (int pixel = 0; pixel < SIDE * SIDE; pixel++) {
                    images[i][pixel / SIDE][pixel % SIDE] = row[pixel] / MAX_PIXEL;
                }
                labels[i] = row[SIDE * SIDE];
            }
            return new Digits(images, labels);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public int size() {
        return labels.length;
    }

    /** Returns the brightness of a pixel, from 0 to 1. */
    public float pixel(int image, int row, int column) {
        return images[image][row][column];
    }

    /** Returns the digit that an image shows. */
    public int label(int image) {
        return labels[image];
    }

    /** Returns the same images in an order that follows from a seed. */
    public Digits shuffled(long seed) {
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < size(); i++) {
            order.add(i);
        }
        Collections.shuffle(order, new Random(seed));
        float[][][] shuffledImages = new float[size()][][];
        int[] shuffledLabels = new int[size()];
        for (int i = 0; i < size(); i++) {
            shuffledImages[i] = images[order.get(i)];
            shuffledLabels[i] = labels[order.get(i)];
        }
        return new Digits(shuffledImages, shuffledLabels);
    }

    /** Returns the images from one index to before another. */
    public Digits range(int from, int to) {
        return new Digits(Arrays.copyOfRange(images, from, to), Arrays.copyOfRange(labels, from, to));
    }

    /** Returns the images in batches, in their order; the last batch takes what is left. */
    public List<DataSet> batches(int batchSize) {
        List<DataSet> batches = new ArrayList<>();
        for (int from = 0; from < size(); from += batchSize) {
            batches.add(range(from, Math.min(from + batchSize, size())).toDataSet());
        }
        return batches;
    }

    /** Features [images, 1, 8, 8], labels [images, 10] one-hot. */
    public DataSet toDataSet() {
        float[][][][] features = new float[size()][1][][];
        float[][] oneHot = new float[size()][CLASSES];
        for (int i = 0; i < size(); i++) {
            features[i][0] = images[i];
            oneHot[i][labels[i]] = 1;
        }
        return new DataSet(Nd4j.createFromArray(features), Nd4j.createFromArray(oneHot));
    }
}
