package org.dl4jamp.inspect.speed;

import java.util.List;

/**
 * A measurement of training on this machine. Plain values: Jackson writes them as they are.
 *
 * @param seconds the time that the measurement took
 * @param othersShare the share of the processors that other programs took meanwhile, 0 to 1; null if unknown
 * @param memoryGigabytesPerSecond the speed at which all processors together copy memory, read and written
 * @param networks kinds of networks
 */
public record SpeedReport(
        double seconds, Double othersShare, double memoryGigabytesPerSecond, List<WorkloadSpeed> networks) {
    public SpeedReport {
        networks = List.copyOf(networks);
    }
}
