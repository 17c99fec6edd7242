package org.dl4jamp.layer.standin;

import java.lang.invoke.CallSite;
import java.lang.invoke.ConstantCallSite;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.dl4jamp.twin.Substitute;

/** Methods that a stand-in's methods call besides the wrapper. Public because classes made at run time refer to it. */
public final class Calls {
    private Calls() {}

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

    /** As the masters would say. */
    public static boolean equal(Object standIn, Object other) {
        return standIn == other || master(standIn).equals(master(other));
    }

    private static Object master(Object handedOut) {
        return handedOut instanceof StandIn standIn ? standIn.mixedPrecisionMaster() : handedOut;
    }
}
