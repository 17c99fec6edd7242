package org.dl4jamp.onednn.twin;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.dl4jamp.onednn.array.Layout;
import org.dl4jamp.onednn.primitive.OneDnnContext;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A gradient in channels-last order to which a ComputationGraph adds those of the other consumers of the same activations, with {@link
 * INDArray#addi(INDArray)}. ND4J's addition takes forty times as long in that order as in its own, so oneDNN adds for this array. All else it leaves to the
 * array itself.
 */
public final class GradientSum implements InvocationHandler {
    private final INDArray sum;
    private final OneDnnContext context;

    private GradientSum(INDArray sum, OneDnnContext context) {
        this.sum = sum;
        this.context = context;
    }

    /** The gradient as an array that adds fast, or itself if ND4J is at home in its order in memory. */
    public static INDArray of(INDArray gradient, OneDnnContext context) {
        boolean channelsLast = gradient.rank() > 2
                && Layout.channelsLast(gradient.dataType(), gradient.shape()).isThatOf(gradient);
        return channelsLast
                ? (INDArray) Proxy.newProxyInstance(
                        INDArray.class.getClassLoader(),
                        new Class<?>[] {INDArray.class},
                        new GradientSum(gradient, context))
                : gradient;
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        boolean adds = method.getName().equals("addi")
                && arguments.length == 1
                && arguments[0] instanceof INDArray other
                && Layout.of(sum).isThatOf(other);
        if (adds) {
            context.add((INDArray) arguments[0], sum);
            return proxy;
        }
        try {
            return method.invoke(sum, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
