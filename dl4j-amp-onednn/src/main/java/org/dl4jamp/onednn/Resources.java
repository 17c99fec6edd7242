package org.dl4jamp.onednn;

/** Closing of what throws no checked exception. */
final class Resources {
    private Resources() {}

    static void close(AutoCloseable resource) {
        try {
            resource.close();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
