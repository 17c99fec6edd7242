package org.dl4jamp.inspect.compare.numbers;

import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Sums, in double precision, that the difference of two arrays is computed from, or of several pairs of arrays. */
public final class DifferenceSums {
    private long numbers;
    private long notZero;
    private long vanished;
    private long nonFinite;
    private boolean referenceIsFinite = true;
    private double references;
    private double others;
    private double products;
    private double differences;
    private double lost;

    /**
     * Adds two arrays of the same shape, whatever their types. They may be in workspaces.
     *
     * @param reference in stock DL4J in FP32
     * @throws AmpException if they don't have as many elements
     */
    public void add(INDArray reference, INDArray other) {
        if (reference.length() != other.length()) {
            throw new AmpException(
                    "arrays of " + reference.length() + " and of " + other.length() + " numbers can't be compared");
        }
        Chunks.forEach(reference, other, (a, b) -> {
            for (int i = 0; i < a.length; i++) {
                add(a[i], b[i]);
            }
        });
    }

    private void add(double reference, double other) {
        numbers++;
        referenceIsFinite &= Double.isFinite(reference);
        if (!Double.isFinite(other)) {
            nonFinite++;
            return;
        }
        if (reference != 0) {
            notZero++;
            if (other == 0) {
                vanished++;
                lost += reference * reference;
            }
        }
        references += reference * reference;
        others += other * other;
        products += reference * other;
        double difference = other - reference;
        differences += difference * difference;
    }

    /** Adds the sums of other arrays. */
    public void add(DifferenceSums more) {
        numbers += more.numbers;
        notZero += more.notZero;
        vanished += more.vanished;
        nonFinite += more.nonFinite;
        referenceIsFinite &= more.referenceIsFinite;
        references += more.references;
        others += more.others;
        products += more.products;
        differences += more.differences;
        lost += more.lost;
    }

    /** Returns the difference of all that was added. */
    public Difference difference() {
        double shareVanished = notZero == 0 ? 0 : (double) vanished / notZero;
        double shareNonFinite = numbers == 0 ? 0 : (double) nonFinite / numbers;
        double normLost = references == 0 ? 0 : Math.sqrt(lost / references);
        return new Difference(numbers, error(), cosine(), shareVanished, normLost, shareNonFinite);
    }

    private double error() {
        if (!referenceIsFinite) {
            return Double.NaN;
        }
        if (nonFinite > 0) {
            return Double.POSITIVE_INFINITY;
        }
        return differences == 0 ? 0 : Math.sqrt(differences / references);
    }

    private double cosine() {
        if (!referenceIsFinite || nonFinite > 0) {
            return Double.NaN;
        }
        if (references == 0 || others == 0) {
            return references == others ? 1 : 0;
        }
        return Math.max(-1, Math.min(1, products / (Math.sqrt(references) * Math.sqrt(others))));
    }
}
