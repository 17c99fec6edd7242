package org.dl4jamp.onednn.memory;

/** Closing of resources without checked exceptions. */
public final class Resources {
    private Resources() {}

    public static void close(AutoCloseable resource) {
        try {
            resource.close();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
