package org.dl4jamp.inspect.speed;

import java.util.List;

/**
 * The times of training one kind of network.
 *
 * @param key {@code dense}, {@code convolutions} or {@code lstm}
 * @param kind the kind of network, in words
 * @param description the network that was measured
 * @param stock stock DL4J
 * @param sides the other ways to train, that of AUTO first
 * @param prediction how many times faster than stock DL4J such networks are expected to train with AUTO; null if that
 *     wasn't measured. 1 where AUTO leaves them to DL4J
 */
public record WorkloadSpeed(
        String key, String kind, String description, SideSpeed stock, List<SideSpeed> sides, Double prediction) {
    public WorkloadSpeed {
        sides = List.copyOf(sides);
    }
}
