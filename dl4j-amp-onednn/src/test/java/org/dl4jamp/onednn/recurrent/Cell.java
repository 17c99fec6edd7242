package org.dl4jamp.onednn.recurrent;

import org.deeplearning4j.nn.conf.RNNFormat;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.IActivation;

/** The recurrent layers with twins of one direction. */
enum Cell {
    LSTM,
    GRAVES_LSTM,
    SIMPLE_RNN;

    boolean isLstm() {
        return this != SIMPLE_RNN;
    }

    boolean hasPeepholes() {
        return this == GRAVES_LSTM;
    }

    /** Returns a configuration with tanh, and sigmoid for the gates. */
    BaseRecurrentLayer layer(int nIn, int units, RNNFormat format) {
        return layer(nIn, units, format, Activation.TANH, Activation.SIGMOID);
    }

    /** Returns a configuration; a simple RNN has no gates. */
    BaseRecurrentLayer layer(int nIn, int units, RNNFormat format, Activation activation, Activation gate) {
        return layer(nIn, units, format, activation.getActivationFunction(), gate.getActivationFunction());
    }

    BaseRecurrentLayer layer(int nIn, int units, RNNFormat format, IActivation activation, IActivation gate) {
        return switch (this) {
            case LSTM ->
                new LSTM.Builder()
                        .nIn(nIn)
                        .nOut(units)
                        .dataFormat(format)
                        .activation(activation)
                        .gateActivationFunction(gate)
                        .build();
            case GRAVES_LSTM ->
                new GravesLSTM.Builder()
                        .nIn(nIn)
                        .nOut(units)
                        .dataFormat(format)
                        .activation(activation)
                        .gateActivationFunction(gate)
                        .build();
            case SIMPLE_RNN ->
                new SimpleRnn.Builder()
                        .nIn(nIn)
                        .nOut(units)
                        .dataFormat(format)
                        .activation(activation)
                        .build();
        };
    }
}
