package org.dl4jamp.onednn;

import java.util.Random;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.Chain;
import org.dl4jamp.SingleLayer;
import org.dl4jamp.engine.ComputeEngine;
import org.dl4jamp.layer.GradientScale;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.layer.TwinSetup;
import org.dl4jamp.precision.Precision;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** A single layer as a network would have it on this engine, and DL4J's own layer on the same numbers. */
public final class Layers {
    private Layers() {}

    /** The layer on this engine: takes and returns arrays of a type. */
    public static TwinLayer twin(ComputeEngine.EngineSession session, Layer conf, INDArray params, DataType type) {
        return twin(session, SingleLayer.dl4j(conf, params), type);
    }

    /** The twin of a layer. */
    public static TwinLayer twin(
            ComputeEngine.EngineSession session, org.deeplearning4j.nn.api.Layer master, DataType type) {
        boolean lower = type == DataType.BFLOAT16 && !(master.conf().getLayer() instanceof BatchNormalization);
        Precision precision = lower ? Precision.BFLOAT16 : Precision.FLOAT;
        return new TwinSetup(
                        "layer",
                        master,
                        session.twin(Chain.request(master, precision, type)),
                        type,
                        type,
                        Chain.CONTEXT,
                        GradientScale.none(),
                        SingleLayer.NO_STEP)
                .wrapper();
    }

    /** FLOAT array of normally distributed numbers that BFLOAT16 can represent. */
    public static INDArray gaussian(Random random, double deviation, long... shape) {
        INDArray array = Nd4j.create(DataType.FLOAT, shape);
        for (long i = 0; i < array.length(); i++) {
            array.putScalar(i, rounded((float) (deviation * random.nextGaussian())));
        }
        return array;
    }

    /** The nearest BFLOAT16 number, ties to even. */
    public static float rounded(float value) {
        int bits = Float.floatToRawIntBits(value);
        return Float.intBitsToFloat((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000);
    }
}
