package org.dl4jamp.inspect.speed;

/**
 * A kind of network that is measured.
 *
 * @param key its name in JSON
 * @param kind the kind of network, in words
 * @param weight its part of the time, relative to the others'
 * @param measured a network that stands for others of its kind
 * @param tiny one with the same layers and hardly any arithmetic, with which Java's compiler warms up
 */
record Workload(String key, String kind, double weight, Task measured, Task tiny) {}
