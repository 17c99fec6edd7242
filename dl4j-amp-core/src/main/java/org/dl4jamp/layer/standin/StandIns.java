package org.dl4jamp.layer.standin;

import java.lang.invoke.CallSite;
import java.lang.invoke.ConstantCallSite;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.ref.SoftReference;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.api.layers.RecurrentLayer;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.dl4j.OwnFields;
import org.dl4jamp.twin.Substitute;
import org.objenesis.ObjenesisStd;
import org.objenesis.instantiator.ObjectInstantiator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes stand-ins, and has the methods that theirs call besides those of the wrapper. Public because classes made at
 * run time refer to it. Thread-safe.
 */
public final class StandIns {
    private static final Logger LOG = LoggerFactory.getLogger(StandIns.class);
    private static final String PACKAGE = StandIns.class.getPackageName() + ".of.";

    /**
     * One class per class of layer. Held softly: a layer's class may outlive this library, whose classes the stand-in's
     * class refers to. Empty where none can be made.
     */
    private static final ClassValue<SoftReference<Optional<Made>>> CLASSES = new ClassValue<>() {
        @Override
        protected SoftReference<Optional<Made>> computeValue(Class<?> type) {
            return new SoftReference<>(make(type));
        }
    };

    private StandIns() {}

    /**
     * Returns the object that a network's getters return in place of a layer's wrapper. It's of the master's class, or
     * the wrapper itself where that's impossible:
     *
     * <ul>
     *   <li>for a final class,
     *   <li>for a user's class that {@linkplain OwnFields keeps state in its fields}, which can't be read through
     *       another object,
     *   <li>for DL4J's {@link BaseWrapperLayer}, because networks look through that class at the layer inside,
     *   <li>for a layer with interfaces that the wrapper doesn't have.
     * </ul>
     *
     * @param wrapper also a {@link Layer}
     */
    public static Layer layer(Substitute<Layer> wrapper) {
        return (Layer) of(wrapper);
    }

    /**
     * Returns the object that a graph's getters return in place of a vertex's wrapper, see {@link #layer}.
     *
     * @param wrapper also a {@link GraphVertex}
     */
    public static GraphVertex vertex(Substitute<GraphVertex> wrapper) {
        return (GraphVertex) of(wrapper);
    }

    private static Object of(Substitute<?> wrapper) {
        Class<?> type = wrapper.master().getClass();
        return isSuitable(type) && role(type).isInstance(wrapper) ? standIn(wrapper, type) : wrapper;
    }

    /** Returns whether a stand-in for objects of a class could be made. */
    public static boolean isSuitable(Class<?> type) {
        return !Modifier.isFinal(type.getModifiers())
                && !type.isSealed()
                && !OwnFields.holdState(type)
                && !BaseWrapperLayer.class.isAssignableFrom(type)
                && !MultiLayerNetwork.class.isAssignableFrom(type)
                && !(IOutputLayer.class.isAssignableFrom(type) && RecurrentLayer.class.isAssignableFrom(type));
    }

    /** Returns the interface that a wrapper has in common with a layer's or vertex's class. */
    private static Class<?> role(Class<?> type) {
        if (GraphVertex.class.isAssignableFrom(type)) {
            return GraphVertex.class;
        }
        if (IOutputLayer.class.isAssignableFrom(type)) {
            return IOutputLayer.class;
        }
        return RecurrentLayer.class.isAssignableFrom(type) ? RecurrentLayer.class : Layer.class;
    }

    private static Object standIn(Substitute<?> wrapper, Class<?> type) {
        Optional<Made> known = CLASSES.get(type).get();
        if (known == null) {
            CLASSES.remove(type);
            return standIn(wrapper, type);
        }
        return known.map(found -> found.create(wrapper)).orElse(wrapper);
    }

    // An unforeseen class mustn't keep a network from training.
    private static Optional<Made> make(Class<?> type) {
        try {
            return Optional.of(new Made(define(type), type));
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            LOG.warn(
                    "No subclass of {} could be made: while mixed precision is enabled, networks hand out its"
                            + " wrappers, which have its interfaces only",
                    type.getName(),
                    e);
            return Optional.empty();
        }
    }

    private static Class<?> define(Class<?> type) throws ReflectiveOperationException {
        if (Modifier.isPublic(type.getModifiers())) {
            // In a package of its own, it can have the very name that DL4J's summaries show.
            String name = PACKAGE + type.getName();
            return new Loader(type.getClassLoader()).define(name, StandInBytes.write(name, type, role(type)));
        }
        // Only classes of the same package and loader may extend it.
        String name = type.getName() + "$InMixedPrecision";
        MethodHandles.Lookup neighbour = MethodHandles.privateLookupIn(type, MethodHandles.lookup());
        try {
            // It stays as long as the layer's class, and may have been forgotten here meanwhile.
            return neighbour.findClass(name).asSubclass(StandIn.class);
        } catch (ClassNotFoundException first) {
            return neighbour.defineClass(StandInBytes.write(name, type, role(type)));
        }
    }

    /**
     * Links calls of methods that a stand-in's class may override but not call on another object: those that are
     * protected, or visible in their package only.
     *
     * @param caller the class made at run time
     * @param name the method's name
     * @param type the master's class, the types of the arguments and of the result
     */
    public static CallSite link(MethodHandles.Lookup caller, String name, MethodType type)
            throws NoSuchMethodException, IllegalAccessException {
        Class<?> master = type.parameterType(0);
        MethodHandles.Lookup own = MethodHandles.privateLookupIn(master, MethodHandles.lookup());
        return new ConstantCallSite(
                own.findVirtual(master, name, type.dropParameterTypes(0, 1)).asType(type));
    }

    /** Called before methods of the master that read the layer's input. */
    public static void informMaster(Object standIn) {
        ((Substitute<?>) StandIn.behind(standIn)).informedMaster();
    }

    /** Called in place of a stand-in's {@code equals}: compares the masters. */
    public static boolean equal(Object standIn, Object other) {
        return standIn == other || master(standIn).equals(master(other));
    }

    private static Object master(Object handedOut) {
        return handedOut instanceof StandIn standIn ? standIn.mixedPrecisionMaster() : handedOut;
    }

    /**
     * A class made at run time, and how its objects are made: without a constructor, which would set up a second layer.
     */
    private static final class Made {
        private final ObjectInstantiator<?> instantiator;
        private final Field wrapper;
        private final Field master;
        private final List<Field> mastersFields = new ArrayList<>();

        /**
         * @param made has the fields of {@link StandInBytes}
         * @param type the layer's class, which it extends
         */
        Made(Class<?> made, Class<?> type) throws NoSuchFieldException {
            // Without its cache, which would keep classes from being unloaded.
            instantiator = new ObjenesisStd(false).getInstantiatorOf(made);
            wrapper = made.getField(StandInBytes.WRAPPER);
            master = made.getField(StandInBytes.MASTER);
            for (Class<?> declaring = type; declaring != Object.class; declaring = declaring.getSuperclass()) {
                for (Field field : declaring.getDeclaredFields()) {
                    if (!Modifier.isStatic(field.getModifiers())) {
                        field.setAccessible(true);
                        mastersFields.add(field);
                    }
                }
            }
        }

        /** Makes a stand-in with the master's fields, for code of their class that isn't reached by calls. */
        Object create(Substitute<?> substitute) {
            Object standIn = instantiator.newInstance();
            try {
                wrapper.set(standIn, substitute);
                master.set(standIn, substitute.master());
                for (Field field : mastersFields) {
                    field.set(standIn, field.get(substitute.master()));
                }
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
            return standIn;
        }
    }

    /**
     * Holds the class of one stand-in, where both the layer's class and this library are visible. One loader per class:
     * when neither a network nor the cache needs the class any more, it's unloaded.
     */
    private static final class Loader extends ClassLoader {
        private static final String LIBRARY = StandIn.class.getPackageName() + ".";

        /** @param layers the loader of the layer's class */
        Loader(ClassLoader layers) {
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
}
