package org.dl4jamp.examples.spark;

import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerBlockUpdated;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.storage.BlockUpdatedInfo;

/**
 * Counts the bytes between machines: parts of broadcasts that executors receive, results of tasks, and shuffled data
 * from another executor. Broadcasts are parameters and updater state, and the tasks themselves. Data that a driver
 * sends within a task, as {@code parallelize} does, isn't among it.
 */
final class SentBytes extends SparkListener {
    private long bytes;

    synchronized long bytes() {
        return bytes;
    }

    @Override
    public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
        if (end.taskMetrics() != null) {
            bytes += end.taskMetrics().resultSize()
                    + end.taskMetrics().shuffleReadMetrics().remoteBytesRead();
        }
    }

    @Override
    public synchronized void onBlockUpdated(SparkListenerBlockUpdated updated) {
        BlockUpdatedInfo block = updated.blockUpdatedInfo();
        if (block.blockId().isBroadcast()
                && block.storageLevel().isValid()
                && !block.blockManagerId().isDriver()) {
            bytes += block.memSize() + block.diskSize();
        }
    }
}
