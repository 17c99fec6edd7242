package org.dl4jamp.inspect.machine;

/**
 * The JVM of this process.
 *
 * @param version such as {@code 17.0.17}
 * @param vendor its vendor
 * @param processors the processors that it may use, which may be fewer than the machine's
 * @param heapLimitBytes the most that its heap may take
 */
public record JavaRuntime(String version, String vendor, int processors, long heapLimitBytes) {
    static JavaRuntime ofThisProcess() {
        Runtime runtime = Runtime.getRuntime();
        return new JavaRuntime(
                System.getProperty("java.version"),
                System.getProperty("java.vendor"),
                runtime.availableProcessors(),
                runtime.maxMemory());
    }
}
