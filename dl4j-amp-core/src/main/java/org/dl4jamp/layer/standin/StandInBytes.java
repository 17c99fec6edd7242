package org.dl4jamp.layer.standin;

import static net.bytebuddy.matcher.ElementMatchers.isDeclaredBy;
import static net.bytebuddy.matcher.ElementMatchers.isEquals;
import static net.bytebuddy.matcher.ElementMatchers.isHashCode;
import static net.bytebuddy.matcher.ElementMatchers.isPublic;
import static net.bytebuddy.matcher.ElementMatchers.isToString;
import static net.bytebuddy.matcher.ElementMatchers.isVirtual;
import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.namedOneOf;
import static net.bytebuddy.matcher.ElementMatchers.not;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;
import static net.bytebuddy.matcher.ElementMatchers.takesNoArguments;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.ClassFileVersion;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.modifier.Visibility;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.dynamic.scaffold.TypeValidation;
import net.bytebuddy.dynamic.scaffold.subclass.ConstructorStrategy;
import net.bytebuddy.implementation.FieldAccessor;
import net.bytebuddy.implementation.Implementation;
import net.bytebuddy.implementation.InvokeDynamic;
import net.bytebuddy.implementation.MethodCall;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import net.bytebuddy.matcher.ElementMatcher;
import org.deeplearning4j.nn.api.Layer;

/**
 * Writes the class of a stand-in: a subclass of a layer's class whose every method passes the call on. What is in the
 * interface that the wrapper has in common with the layer goes to the wrapper, the rest to the master.
 */
final class StandInBytes {
    static final String WRAPPER = "mixedPrecisionWrapper";
    static final String MASTER = "mixedPrecisionMaster";

    /** Methods of DL4J's layers that aren't in its interfaces and read the input that was set. */
    private static final ElementMatcher<MethodDescription> READS_INPUT = namedOneOf("assertInputSet", "preOutput");

    private StandInBytes() {}

    /**
     * Returns the class's bytes. A rule that comes later has precedence.
     *
     * @param type the layer's class
     * @param role the interface that the wrapper has in common with it
     */
    static byte[] write(String name, Class<?> type, Class<?> role) throws NoSuchMethodException {
        ElementMatcher.Junction<MethodDescription> layers = isVirtual().and(not(isDeclaredBy(Object.class)));
        DynamicType.Builder<?> builder = new ByteBuddy(ClassFileVersion.JAVA_V17)
                // It takes nested private classes for invisible, which to the JVM belong to the package.
                .with(TypeValidation.DISABLED)
                .subclass(type, ConstructorStrategy.Default.NO_CONSTRUCTORS)
                .name(name)
                .defineField(WRAPPER, role, Visibility.PUBLIC)
                .defineField(MASTER, type, Visibility.PUBLIC)
                .method(layers.and(not(isPublic())))
                .intercept(ofMasterUnseen())
                .method(layers.and(isPublic()).or(isHashCode()).or(isToString()))
                .intercept(MethodCall.invokeSelf().onField(MASTER).withAllArguments())
                .method(layers.and(isPublic()).and(READS_INPUT))
                .intercept(ofInformedMaster())
                .method(isEquals())
                .intercept(MethodCall.invoke(StandIns.class.getMethod("equal", Object.class, Object.class))
                        .withThis()
                        .withAllArguments());
        for (Method method : role.getMethods()) {
            if (!Modifier.isStatic(method.getModifiers())) {
                builder = builder.method(named(method.getName()).and(takesArguments(method.getParameterTypes())))
                        .intercept(ofWrapper(method).withAllArguments());
            }
        }
        if (Layer.class.isAssignableFrom(role)) {
            builder = builder.method(layers.and(named("getInput")).and(takesNoArguments()))
                    .intercept(ofWrapper(Layer.class.getMethod("input")));
        }
        return builder.implement(StandIn.class)
                .method(isDeclaredBy(StandIn.class))
                .intercept(FieldAccessor.of(MethodDescription::getActualName))
                .make()
                .getBytes();
    }

    private static MethodCall ofWrapper(Method method) {
        return (MethodCall)
                MethodCall.invoke(method).onField(WRAPPER).withAssigner(Assigner.DEFAULT, Assigner.Typing.DYNAMIC);
    }

    private static Implementation ofInformedMaster() throws NoSuchMethodException {
        return MethodCall.invoke(StandIns.class.getMethod("informMaster", Object.class))
                .withThis()
                .andThen(MethodCall.invokeSelf().onField(MASTER).withAllArguments());
    }

    private static Implementation ofMasterUnseen() throws NoSuchMethodException {
        return InvokeDynamic.bootstrap(
                        StandIns.class.getMethod("link", MethodHandles.Lookup.class, String.class, MethodType.class))
                .withField(MASTER)
                .withMethodArguments();
    }
}
