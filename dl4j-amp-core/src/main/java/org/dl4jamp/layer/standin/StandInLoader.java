package org.dl4jamp.layer.standin;

/**
 * Holds the class of one stand-in, where both the layer's class and this library are visible. One loader per class:
 * when neither a network nor the cache needs the class any more, it's unloaded.
 */
final class StandInLoader extends ClassLoader {
    private static final String LIBRARY = StandIn.class.getPackageName() + ".";

    /** @param layers the loader of the layer's class */
    StandInLoader(ClassLoader layers) {
        super(layers);
    }

    /**
     * Returns this library's classes from the loader that requested the stand-in, whatever else the layer's loader
     * finds under their names.
     */
    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        return name.startsWith(LIBRARY) && findLoadedClass(name) == null
                ? StandIn.class.getClassLoader().loadClass(name)
                : super.loadClass(name, resolve);
    }

    Class<?> define(String name, byte[] bytes) {
        return defineClass(name, bytes, 0, bytes.length);
    }
}
