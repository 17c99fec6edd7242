package org.dl4jamp.onednn.user;

import java.lang.reflect.Modifier;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.wrapper.BaseWrapperLayer;
import org.dl4jamp.extension.LayerKernel;
import org.dl4jamp.onednn.twin.LayerKernels;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.Precision;

/** Users' kernels, by the class of their layers. */
public final class UserKernels {
    /** No kernels. */
    public static final UserKernels NONE = new UserKernels(Map.of());

    private final Map<Class<?>, LayerKernel<?>> kernels;

    private UserKernels(Map<Class<?>, LayerKernel<?>> kernels) {
        this.kernels = kernels;
    }

    /**
     * Finds the kernels of this module's class loader, and those that only the thread's context class loader has.
     *
     * @param covered the classes that the engine itself has kernels for
     * @throws AmpException naming the kernel, if one can't be loaded, or is for a class that can't have one
     */
    public static UserKernels found(Predicate<Class<?>> covered) {
        Set<Class<?>> known = new HashSet<>();
        return of(
                Stream.of(
                                UserKernels.class.getClassLoader(),
                                Thread.currentThread().getContextClassLoader())
                        .filter(UserKernels::hasThisModule)
                        .flatMap(UserKernels::by)
                        .filter(kernel -> known.add(kernel.getClass())),
                covered);
    }

    /** Takes kernels, each of which is refused for the same reasons as those that are {@linkplain #found found}. */
    static UserKernels of(Stream<LayerKernel<?>> kernels, Predicate<Class<?>> covered) {
        Map<Class<?>, LayerKernel<?>> accepted = new HashMap<>();
        kernels.forEach(kernel -> {
            Class<?> type = requireType(kernel, covered);
            LayerKernel<?> other = accepted.put(type, kernel);
            if (other != null) {
                throw new AmpException("two kernels are for " + type.getName() + ": "
                        + other.getClass().getName() + " and "
                        + kernel.getClass().getName() + ". Take one of them off"
                        + " the class path");
            }
        });
        return new UserKernels(Map.copyOf(accepted));
    }

    /** Engines and kernels of a copy of this module are of no use. */
    private static boolean hasThisModule(ClassLoader loader) {
        try {
            return loader != null && loader.loadClass(LayerKernel.class.getName()) == LayerKernel.class;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    private static Stream<LayerKernel<?>> by(ClassLoader loader) {
        try {
            return ServiceLoader.load(LayerKernel.class, loader).stream()
                    .<LayerKernel<?>>map(ServiceLoader.Provider::get)
                    .toList()
                    .stream();
        } catch (ServiceConfigurationError e) {
            throw new AmpException("a kernel of a user's can't be loaded: " + e.getMessage(), e);
        }
    }

    private static Class<?> requireType(LayerKernel<?> kernel, Predicate<Class<?>> covered) {
        String name = "kernel " + kernel.getClass().getName();
        Class<?> type = kernel.layerClass();
        if (type == null) {
            throw new AmpException(name + " returned null as its layerClass()");
        }
        String refusal = refusal(type, covered);
        if (refusal != null) {
            throw new AmpException(name + " is for " + type.getName() + ", " + refusal);
        }
        return type;
    }

    /** Returns null if a class can have a kernel. */
    private static String refusal(Class<?> type, Predicate<Class<?>> covered) {
        if (!Layer.class.isAssignableFrom(type)) {
            return "which is no class of layers' configurations";
        }
        if (Modifier.isAbstract(type.getModifiers())) {
            return "which is abstract: no layer is of that very class";
        }
        if (covered.test(type)) {
            return "which the engine computes by itself";
        }
        if (isAny(type, BaseWrapperLayer.class, FrozenLayer.class, Bidirectional.class)) {
            return "a wrapper: the kernel has to be for the layer inside";
        }
        return isAny(type, BaseOutputLayer.class, BaseRecurrentLayer.class)
                ? "an output or recurrent layer, which a kernel of a user's can't compute"
                : null;
    }

    private static boolean isAny(Class<?> type, Class<?>... classes) {
        return Stream.of(classes).anyMatch(each -> each.isAssignableFrom(type));
    }

    /** Returns the kernel for a layer's class, as the engine has its own. */
    public Optional<LayerKernels<?>> of(Layer layer) {
        return Optional.ofNullable(kernels.get(layer.getClass())).map(UserKernels::asOwn);
    }

    /** Returns the plan's reason for a layer that a user's kernel computes; empty if none does. */
    public Optional<String> how(Layer layer, Precision precision) {
        return Optional.ofNullable(kernels.get(layer.getClass()))
                .map(kernel -> precision + ", by kernel " + kernel.getClass().getName());
    }

    private static <L extends Layer> LayerKernels<L> asOwn(LayerKernel<L> kernel) {
        return new LayerKernels<>(
                kernel.layerClass(),
                (layer, precision) -> without(kernel, layer, precision),
                (conf, type, context) -> UserTwin.make(kernel, conf, type, context),
                kernel.dropsInput());
    }

    private static <L extends Layer> Optional<String> without(LayerKernel<L> kernel, L layer, Precision precision) {
        if (layer.getIDropout() != null && !kernel.dropsInput()) {
            return LayerKernels.because("dropout of " + layer.getClass().getSimpleName());
        }
        if (layer instanceof BaseLayer base && base.getWeightNoise() != null) {
            return LayerKernels.because("weight noise of " + layer.getClass().getSimpleName());
        }
        Optional<String> reason = kernel.cannot(layer, precision);
        if (reason == null) {
            throw new AmpException("kernel " + kernel.getClass().getName() + " returned null from cannot(...)");
        }
        return reason.map(words -> "kernel " + kernel.getClass().getName() + ": " + words);
    }
}
