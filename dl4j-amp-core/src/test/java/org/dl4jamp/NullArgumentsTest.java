package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.ObjIntConsumer;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.checkpoint.AmpState;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.config.CarriedConfig;
import org.dl4jamp.config.GradientPenalty;
import org.dl4jamp.config.GradientSettings;
import org.dl4jamp.config.PartialGroup;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.AmpException;
import org.dl4jamp.precision.LayerObserver;
import org.dl4jamp.precision.OptLevel;
import org.dl4jamp.precision.Precision;
import org.dl4jamp.scale.DynamicLossScaler;
import org.dl4jamp.scale.LossScaler;
import org.dl4jamp.scale.LossScalerState;
import org.dl4jamp.scale.NoLossScaler;
import org.dl4jamp.scale.SharedLossScale;
import org.dl4jamp.scale.Skip;
import org.dl4jamp.scale.StaticLossScaler;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Whatever is null is refused with a message that names the argument. */
class NullArgumentsTest {
    private static final LossScalerState SCALER = new NoLossScaler().state();

    /** One valid argument of each type, those that take them. */
    private static final Map<Class<?>, Object> VALID = Map.ofEntries(
            Map.entry(MultiLayerNetwork.class, Networks.init(Networks.mlp())),
            Map.entry(ObjIntConsumer.class, (ObjIntConsumer<Skip>) (skip, iteration) -> {}),
            Map.entry(LayerObserver.class, new Unread()),
            Map.entry(Model.class, Networks.init(Networks.mlp())),
            Map.entry(ComputationGraph.class, Networks.init(Networks.residual())),
            Map.entry(MultiLayerConfiguration.class, Networks.mlp()),
            Map.entry(ComputationGraphConfiguration.class, Networks.residual()),
            Map.entry(AmpConfig.class, AmpConfig.defaults()),
            Map.entry(AmpState.class, new AmpState(AmpConfig.defaults(), SCALER, 0, 0, 0)),
            Map.entry(LossScalerState.class, SCALER),
            Map.entry(LossScaler.class, new NoLossScaler()),
            Map.entry(SharedLossScale.class, new SharedLossScale(new NoLossScaler())),
            Map.entry(GradientPenalty.class, GradientPenalty.of(0.1, 0.05)),
            Map.entry(PartialGroup.class, PartialGroup.APPLY),
            Map.entry(Optional.class, Optional.empty()),
            Map.entry(Precision.class, Precision.HALF),
            Map.entry(OptLevel.class, OptLevel.O1),
            Map.entry(String.class, "text"),
            Map.entry(Class.class, DenseLayer.class),
            Map.entry(Predicate.class, (Predicate<Object>) layer -> true),
            Map.entry(List.class, List.of()),
            Map.entry(File.class, new File("nowhere/model.zip")),
            Map.entry(InputStream.class, new ByteArrayInputStream(new byte[0])),
            Map.entry(OutputStream.class, new ByteArrayOutputStream()));

    private static final class Unread implements LayerObserver {
        @Override
        public void output(String layer, INDArray output) {}

        @Override
        public void inputGradient(String layer, INDArray gradient, double scale) {}
    }

    private static final Map<Class<?>, Object> OBJECTS = Map.of(
            MixedPrecision.class,
            MixedPrecision.enable(Networks.init(Networks.mlp()), AmpConfig.defaults()),
            AmpConfig.Builder.class,
            AmpConfig.builder(),
            GradientSettings.class,
            AmpConfig.builder(),
            DynamicLossScaler.class,
            DynamicLossScaler.builder().build(),
            StaticLossScaler.class,
            new StaticLossScaler(2),
            NoLossScaler.class,
            new NoLossScaler());

    /** Parameters that may be null, texts that are looked up, and what only this library itself gives. */
    private static final Set<String> ALLOWED = Set.of(
            "AmpModelSerializer.writeModel.normalizer",
            "MixedPrecision.master.layer",
            "PrecisionPlan.row.name",
            "PrecisionPlan.fusion.name",
            "PrecisionPlan.withReasons.additions");

    static Stream<Arguments> references() {
        return Stream.of(
                        MixedPrecision.class,
                        AmpConfig.class,
                        AmpConfig.Builder.class,
                        AmpModelSerializer.class,
                        AmpState.class,
                        CarriedConfig.class,
                        PrecisionPlan.class,
                        LossScalerState.class,
                        DynamicLossScaler.class,
                        StaticLossScaler.class,
                        NoLossScaler.class)
                .flatMap(type -> Stream.concat(Arrays.stream(type.getMethods()), Arrays.stream(type.getConstructors())))
                .filter(call -> call.getDeclaringClass().getName().startsWith("org.dl4jamp.")
                        && !call.isSynthetic()
                        && !call.getName().equals("equals"))
                .flatMap(NullArgumentsTest::references);
    }

    private static Stream<Arguments> references(Executable call) {
        Parameter[] parameters = call.getParameters();
        return Stream.iterate(0, position -> position + 1)
                .limit(parameters.length)
                .filter(position -> !parameters[position].getType().isPrimitive())
                .filter(position -> !ALLOWED.contains(call.getDeclaringClass().getSimpleName() + "." + call.getName()
                        + "." + parameters[position].getName()))
                .map(position -> Arguments.of(call, position, parameters[position].getName()));
    }

    @ParameterizedTest(name = "{2} of {0}")
    @MethodSource("references")
    void isNamedByTheMessage(Executable call, int position, String name) {
        Object[] arguments = Arrays.stream(call.getParameters())
                .map(parameter -> valid(parameter.getType()))
                .toArray();
        arguments[position] = null;
        InvocationTargetException thrown = assertThrows(InvocationTargetException.class, () -> invoke(call, arguments));
        AmpException refusal = assertInstanceOf(AmpException.class, thrown.getCause());
        assertTrue(refusal.getMessage().contains(name), refusal.getMessage());
        assertTrue(refusal.getMessage().contains("null"), refusal.getMessage());
    }

    private static Object valid(Class<?> type) {
        if (type.isPrimitive()) {
            return type == boolean.class ? (Object) false : type == double.class ? (Object) 1.0 : integer(type);
        }
        Object value = VALID.get(type);
        // The normalizer, which may be.
        return type.getSimpleName().equals("DataNormalization") ? null : Objects.requireNonNull(value, type::getName);
    }

    private static Object integer(Class<?> type) {
        return type == long.class ? (Object) 0L : (Object) 1;
    }

    private static void invoke(Executable call, Object[] arguments) throws ReflectiveOperationException {
        if (call instanceof Constructor<?> constructor) {
            constructor.newInstance(arguments);
            return;
        }
        Object object = Modifier.isStatic(call.getModifiers())
                ? null
                : Objects.requireNonNull(OBJECTS.get(call.getDeclaringClass()), call::toString);
        ((Method) call).invoke(object, arguments);
    }
}
