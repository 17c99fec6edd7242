package org.dl4jamp.engine.nd4j;

import java.util.HashMap;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffLayer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Attention with loops over double numbers, and gradients from differences of its outputs. */
record AttentionFormula(SameDiffLayer conf, INDArray mask) {
    private static final double STEP = 1e-5;

    /** The parameters of a layer, in rows. */
    private record Weights(Map<String, double[]> values, Map<String, long[]> shapes) {
        double at(String name, long row, long column) {
            long[] shape = shapes.get(name);
            return values.get(name)[(int) (row * shape[shape.length - 1] + column)];
        }

        boolean has(String name) {
            return shapes.containsKey(name);
        }
    }

    INDArray output(INDArray params, INDArray input) {
        Weights weights = weights(params);
        int minibatch = (int) input.size(0);
        int nIn = (int) input.size(1);
        int time = (int) input.size(2);
        int queries = weights.has("Q") ? (int) weights.shapes().get("Q")[2] : time;
        int heads = weights.has("Wq") ? (int) weights.shapes().get("Wq")[0] : 1;
        int size = weights.has("Wq") ? (int) weights.shapes().get("Wq")[1] : nIn;
        int nOut = weights.has("Wo") ? (int) weights.shapes().get("Wo")[1] : nIn;
        INDArray output = Nd4j.zeros(DataType.DOUBLE, minibatch, nOut, queries);
        for (int example = 0; example < minibatch; example++) {
            double[][] sequence = new double[time][nIn];
            double[][] asked = new double[queries][nIn];
            for (int step = 0; step < time; step++) {
                for (int unit = 0; unit < nIn; unit++) {
                    sequence[step][unit] = input.getDouble(example, unit, step);
                }
            }
            for (int query = 0; query < queries; query++) {
                for (int unit = 0; unit < nIn; unit++) {
                    asked[query][unit] = weights.has("Q") ? weights.at("Q", unit, query) : sequence[query][unit];
                }
            }
            for (int head = 0; head < heads; head++) {
                double[][] q = projected(weights, "Wq", asked, head, size);
                double[][] k = projected(weights, "Wk", sequence, head, size);
                double[][] v = projected(weights, "Wv", sequence, head, size);
                for (int query = 0; query < queries; query++) {
                    double[] attended = attended(q[query], k, v, example);
                    for (int unit = 0; unit < nOut; unit++) {
                        double sum = attended[weights.has("Wo") ? 0 : unit];
                        if (weights.has("Wo")) {
                            sum = 0;
                            for (int part = 0; part < size; part++) {
                                sum += weights.at("Wo", head * size + part, unit) * attended[part];
                            }
                        }
                        output.putScalar(
                                new int[] {example, unit, query}, output.getDouble(example, unit, query) + sum);
                    }
                }
            }
        }
        return output;
    }

    private double[] attended(double[] query, double[][] keys, double[][] values, int example) {
        double[] scores = new double[keys.length];
        double largest = Double.NEGATIVE_INFINITY;
        for (int step = 0; step < keys.length; step++) {
            for (int part = 0; part < query.length; part++) {
                scores[step] += query[part] * keys[step][part] / Math.sqrt(query.length);
            }
            scores[step] += mask == null ? 0 : (mask.getDouble(example, step) - 1) * 1e9;
            largest = Math.max(largest, scores[step]);
        }
        double total = 0;
        double[] attended = new double[query.length];
        for (int step = 0; step < keys.length; step++) {
            double weight = Math.exp(scores[step] - largest);
            total += weight;
            for (int part = 0; part < query.length; part++) {
                attended[part] += weight * values[step][part];
            }
        }
        for (int part = 0; part < query.length; part++) {
            attended[part] /= total;
        }
        return attended;
    }

    private static double[][] projected(Weights weights, String name, double[][] sequence, int head, int size) {
        if (!weights.has(name)) {
            return sequence;
        }
        double[][] projected = new double[sequence.length][size];
        for (int step = 0; step < sequence.length; step++) {
            for (int part = 0; part < size; part++) {
                for (int unit = 0; unit < sequence[step].length; unit++) {
                    projected[step][part] += weights.at(name, head * size + part, unit) * sequence[step][unit];
                }
            }
        }
        return projected;
    }

    private Weights weights(INDArray params) {
        Map<String, double[]> values = new HashMap<>();
        int start = 0;
        for (String name : conf.getLayerParams().getParameterKeys()) {
            int length = 1;
            for (long size : conf.getLayerParams().getParamShapes().get(name)) {
                length *= (int) size;
            }
            double[] parameter = new double[length];
            for (int i = 0; i < length; i++) {
                parameter[i] = params.getDouble(start + i);
            }
            values.put(name, parameter);
            start += length;
        }
        return new Weights(values, conf.getLayerParams().getParamShapes());
    }

    /** Returns the gradient of a sum of outputs times their errors, from differences. */
    static INDArray differences(INDArray at, UnaryOperator<INDArray> function, INDArray errors) {
        INDArray moved = at.castTo(DataType.DOUBLE);
        INDArray gradient = Nd4j.create(DataType.DOUBLE, at.shape());
        INDArray weights = errors.castTo(DataType.DOUBLE);
        for (long i = 0; i < at.length(); i++) {
            double here = moved.getDouble(i);
            moved.putScalar(i, here + STEP);
            double above = function.apply(moved).mul(weights).sumNumber().doubleValue();
            moved.putScalar(i, here - STEP);
            double below = function.apply(moved).mul(weights).sumNumber().doubleValue();
            moved.putScalar(i, here);
            gradient.putScalar(i, (above - below) / (2 * STEP));
        }
        return gradient.castTo(DataType.FLOAT);
    }
}
