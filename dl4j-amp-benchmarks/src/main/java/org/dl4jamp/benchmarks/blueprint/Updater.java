package org.dl4jamp.benchmarks.blueprint;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;

/** The updater of the parameters. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "kind")
@JsonSubTypes({
    @JsonSubTypes.Type(value = Updater.Adam.class, name = "adam"),
    @JsonSubTypes.Type(value = Updater.Nesterov.class, name = "nesterov"),
})
public sealed interface Updater {
    /** Kingma and Ba, Adam: A Method for Stochastic Optimization, 2014. */
    record Adam(double learningRate, double beta1, double beta2, double epsilon) implements Updater {}

    /** Stochastic gradient descent with Nesterov's momentum. */
    record Nesterov(double learningRate, double momentum) implements Updater {}
}
