package org.dl4jamp;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.api.Updater;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.updater.MultiLayerUpdater;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.optimize.listeners.CollectScoresIterationListener;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.nd4j.adapters.OutputAdapter;
import org.nd4j.evaluation.IEvaluation;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.adapter.SingletonDataSetIterator;
import org.nd4j.linalg.dataset.adapter.SingletonMultiDataSetIterator;
import org.nd4j.linalg.dataset.api.DataSet;
import org.nd4j.linalg.dataset.api.MultiDataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.dataset.api.iterator.MultiDataSetIterator;
import org.nd4j.linalg.schedule.FixedSchedule;
import org.nd4j.linalg.schedule.ISchedule;

/** One public method of DL4J's networks, and how it's called: with arguments that go with the network. */
record PublicCall(Method method) {
    private static final Map<Class<?>, Function<Subject, Object>> BY_TYPE = Map.ofEntries(
            Map.entry(boolean.class, subject -> true),
            Map.entry(int.class, subject -> 1),
            Map.entry(long.class, subject -> 1L),
            Map.entry(double.class, subject -> 0.05),
            Map.entry(int[].class, subject -> new int[] {0, 1, 0, 1, 0, 1}),
            Map.entry(
                    Object.class,
                    subject -> subject.isGraph()
                            ? subject.graph().clone()
                            : subject.layers().clone()),
            Map.entry(DataSet.class, Subject::data),
            Map.entry(org.nd4j.linalg.dataset.DataSet.class, Subject::data),
            Map.entry(MultiDataSet.class, subject -> subject.data().toMultiDataSet()),
            Map.entry(DataSetIterator.class, subject -> new SingletonDataSetIterator(subject.data())),
            Map.entry(
                    MultiDataSetIterator.class,
                    subject -> new SingletonMultiDataSetIterator(subject.data().toMultiDataSet())),
            Map.entry(LayerWorkspaceMgr.class, subject -> LayerWorkspaceMgr.noWorkspaces()),
            Map.entry(Layer.TrainingMode.class, subject -> Layer.TrainingMode.TEST),
            Map.entry(MaskState.class, subject -> MaskState.Active),
            Map.entry(OutputAdapter.class, subject ->
                    (OutputAdapter<Double>) outputs -> outputs[0].norm2Number().doubleValue()),
            Map.entry(ISchedule.class, subject -> new FixedSchedule(0.05)),
            Map.entry(CacheMode.class, subject -> CacheMode.NONE),
            Map.entry(DataType.class, subject -> DataType.DOUBLE),
            Map.entry(InputType.class, Subject::inputType),
            Map.entry(InputType[].class, subject -> new InputType[] {subject.inputType()}),
            Map.entry(
                    TrainingListener[].class, subject -> new TrainingListener[] {new CollectScoresIterationListener()}),
            Map.entry(Collection.class, subject -> List.of(new CollectScoresIterationListener())),
            Map.entry(IEvaluation[].class, subject -> new IEvaluation<?>[] {new Evaluation(2)}),
            Map.entry(NeuralNetConfiguration.class, subject -> subject.network().conf()),
            Map.entry(MultiLayerConfiguration.class, subject -> subject.layers().getLayerWiseConfigurations()),
            Map.entry(Layer[].class, subject -> subject.layers().getLayers()),
            Map.entry(Updater.class, subject -> new MultiLayerUpdater(subject.layers())),
            Map.entry(ComputationGraphUpdater.class, subject -> new ComputationGraphUpdater(subject.graph())),
            Map.entry(Gradient.class, PublicCall::gradient));

    /** Arguments of calls whose types don't determine their meaning, by signature. */
    private static final Map<String, Function<Subject, Object[]>> BY_SIGNATURE = new HashMap<>();

    static {
        // Parameters and gradients
        for (String call : List.of("setParams(INDArray)", "setParameters(INDArray)", "setParamsViewArray(INDArray)")) {
            BY_SIGNATURE.put(call, subject -> new Object[] {parameters(subject)});
        }
        BY_SIGNATURE.put("setBackpropGradientsViewArray(INDArray)", subject ->
                new Object[] {parameters(subject).muli(0)});
        BY_SIGNATURE.put("init(INDArray, boolean)", subject -> new Object[] {parameters(subject), true});
        BY_SIGNATURE.put("setParam(String, INDArray)", subject -> new Object[] {subject.parameter(), weights(subject)});
        BY_SIGNATURE.put("update(INDArray, String)", subject -> new Object[] {weights(subject), subject.parameter()});
        BY_SIGNATURE.put("setParamTable(Map)", subject -> new Object[] {
            subject.network().paramTable().entrySet().stream()
                    .collect(Collectors.toMap(
                            Map.Entry::getKey, entry -> entry.getValue().mul(0.5)))
        });
        for (String call : List.of("getParam(String)", "updaterDivideByMinibatch(String)")) {
            BY_SIGNATURE.put(call, subject -> new Object[] {subject.parameter()});
        }
        // Labels and masks
        BY_SIGNATURE.put("setLabels(INDArray)", subject -> new Object[] {subject.labels()});
        BY_SIGNATURE.put("setLabels(INDArray[])", subject -> new Object[] {array(subject.labels())});
        BY_SIGNATURE.put("setLabel(int, INDArray)", subject -> new Object[] {0, subject.labels()});
        for (String call : List.of("setMask(INDArray)", "setMaskArray(INDArray)")) {
            BY_SIGNATURE.put(call, subject -> new Object[] {subject.mask()});
        }
        BY_SIGNATURE.put(
                "setLayerMaskArrays(INDArray, INDArray)", subject -> new Object[] {subject.mask(), subject.mask()});
        BY_SIGNATURE.put(
                "setLayerMaskArrays(INDArray[], INDArray[])", subject -> new Object[] {masks(subject), masks(subject)});
        BY_SIGNATURE.put("feedForwardMaskArray(INDArray, MaskState, int)", subject ->
                new Object[] {subject.mask(), MaskState.Active, 6});
        BY_SIGNATURE.put("feedForward(INDArray, INDArray, INDArray)", subject ->
                new Object[] {subject.features(), subject.mask(), subject.mask()});
        BY_SIGNATURE.put("output(INDArray, boolean, INDArray, INDArray)", subject ->
                new Object[] {subject.features(), false, subject.mask(), subject.mask()});
        BY_SIGNATURE.put("output(INDArray, boolean, INDArray, INDArray, MemoryWorkspace)", subject ->
                new Object[] {subject.features(), false, subject.mask(), subject.mask(), null});
        BY_SIGNATURE.put("output(INDArray, INDArray, INDArray, OutputAdapter)", subject -> new Object[] {
            subject.features(),
            subject.mask(),
            subject.mask(),
            BY_TYPE.get(OutputAdapter.class).apply(subject)
        });
        BY_SIGNATURE.put("output(INDArray[], INDArray[], INDArray[], OutputAdapter)", subject -> new Object[] {
            array(subject.features()),
            masks(subject),
            masks(subject),
            BY_TYPE.get(OutputAdapter.class).apply(subject)
        });
        BY_SIGNATURE.put("output(boolean, INDArray[], INDArray[])", subject ->
                new Object[] {false, array(subject.features()), masks(subject)});
        BY_SIGNATURE.put("output(boolean, INDArray[], INDArray[], INDArray[])", subject ->
                new Object[] {false, array(subject.features()), masks(subject), masks(subject)});
        BY_SIGNATURE.put("output(boolean, INDArray[], INDArray[], INDArray[], MemoryWorkspace)", subject ->
                new Object[] {false, array(subject.features()), masks(subject), masks(subject), null});
        BY_SIGNATURE.put("output(List, boolean, INDArray[], INDArray[])", subject ->
                new Object[] {List.of(Subject.HIDDEN), false, array(subject.features()), masks(subject)});
        // Epsilons
        BY_SIGNATURE.put("backpropGradient(INDArray[])", subject -> new Object[] {array(subject.labels())});
        BY_SIGNATURE.put("backpropGradient(INDArray, LayerWorkspaceMgr)", subject ->
                new Object[] {subject.labels(), LayerWorkspaceMgr.noWorkspaces()});
        // The only input, output and label
        for (String call : List.of("getInput(int)", "getOutputLayer(int)")) {
            BY_SIGNATURE.put(call, subject -> new Object[] {0});
        }
        BY_SIGNATURE.put("setInput(int, INDArray)", subject -> new Object[] {0, subject.features()});
        BY_SIGNATURE.put(
                "activateSelectedLayers(int, int, INDArray)", subject -> new Object[] {0, 1, subject.features()});
        // The layer that can be pretrained
        for (String first : List.of("int", "String")) {
            for (String data : List.of("INDArray", "DataSetIterator", "MultiDataSetIterator")) {
                for (String more : List.of("", ", int")) {
                    BY_SIGNATURE.put("pretrainLayer(" + first + ", " + data + more + ")", subject -> {
                        List<Object> arguments = new ArrayList<>();
                        arguments.add(first.equals("int") ? (Object) 0 : Subject.FIRST);
                        arguments.add(
                                switch (data) {
                                    case "INDArray" -> subject.features();
                                    case "DataSetIterator" -> new SingletonDataSetIterator(subject.data());
                                    default ->
                                        new SingletonMultiDataSetIterator(
                                                subject.data().toMultiDataSet());
                                });
                        if (!more.isEmpty()) {
                            arguments.add(1);
                        }
                        return arguments.toArray();
                    });
                }
            }
        }
        // Tables
        BY_SIGNATURE.put("evaluate(DataSetIterator, Map)", subject -> new Object[] {
            new SingletonDataSetIterator(subject.data()), Map.of(0, new IEvaluation<?>[] {new Evaluation(2)})
        });
        BY_SIGNATURE.put("evaluate(MultiDataSetIterator, Map)", subject -> new Object[] {
            new SingletonMultiDataSetIterator(subject.data().toMultiDataSet()),
            Map.of(0, new IEvaluation<?>[] {new Evaluation(2)})
        });
        BY_SIGNATURE.put("rnnSetPreviousState(int, Map)", subject -> new Object[] {1, subject.hiddenState()});
        BY_SIGNATURE.put(
                "rnnSetPreviousState(String, Map)", subject -> new Object[] {Subject.HIDDEN, subject.hiddenState()});
        BY_SIGNATURE.put(
                "rnnSetPreviousStates(Map)", subject -> new Object[] {Map.of(Subject.HIDDEN, subject.hiddenState())});
        // Names of the classes
        for (String iterator : List.of("DataSetIterator", "MultiDataSetIterator")) {
            for (String more : List.of("", ", int")) {
                BY_SIGNATURE.put("evaluate(" + iterator + ", List" + more + ")", subject -> {
                    List<Object> arguments = new ArrayList<>(List.of(
                            iterator.startsWith("Multi")
                                    ? new SingletonMultiDataSetIterator(
                                            subject.data().toMultiDataSet())
                                    : new SingletonDataSetIterator(subject.data()),
                            List.of("a", "b")));
                    if (!more.isEmpty()) {
                        arguments.add(1);
                    }
                    return arguments.toArray();
                });
            }
            BY_SIGNATURE.put("evaluateRegression(" + iterator + ", List)", subject -> new Object[] {
                iterator.startsWith("Multi")
                        ? new SingletonMultiDataSetIterator(subject.data().toMultiDataSet())
                        : new SingletonDataSetIterator(subject.data()),
                List.of("a", "b")
            });
        }
    }

    /** All of a class, sorted by signature. */
    static List<PublicCall> of(Class<?> type) {
        return Arrays.stream(type.getMethods())
                .filter(method -> method.getDeclaringClass() != Object.class)
                .filter(method -> !method.isBridge() && !method.isSynthetic())
                .map(PublicCall::new)
                .sorted(Comparator.comparing(PublicCall::signature))
                .toList();
    }

    /** Name and simple names of the types of its parameters. */
    String signature() {
        return method.getName()
                + Arrays.stream(method.getParameterTypes())
                        .map(Class::getSimpleName)
                        .collect(Collectors.joining(", ", "(", ")"));
    }

    /** Calls it. Returns what it returned, or what it threw. */
    Object on(Subject subject, Path folder) throws IllegalAccessException {
        try {
            Object[] arguments = arguments(subject, folder);
            return method.invoke(Modifier.isStatic(method.getModifiers()) ? null : subject.network(), arguments);
        } catch (InvocationTargetException e) {
            return e.getCause();
        }
    }

    private Object[] arguments(Subject subject, Path folder) {
        Function<Subject, Object[]> own = BY_SIGNATURE.get(signature());
        if (own != null) {
            return own.apply(subject);
        }
        Class<?>[] types = method.getParameterTypes();
        Object[] arguments = new Object[types.length];
        int arrays = 0;
        for (int i = 0; i < types.length; i++) {
            if (types[i] == INDArray.class) {
                arguments[i] = subject.array(arrays++);
            } else if (types[i] == INDArray[].class) {
                arguments[i] = array(subject.array(arrays++));
            } else if (types[i] == String.class) {
                arguments[i] = Subject.HIDDEN;
            } else if (types[i] == java.io.File.class) {
                arguments[i] = saved(subject, folder).toFile();
            } else if (types[i] == MemoryWorkspace.class || types[i] == GradientsAccumulator.class) {
                arguments[i] = null; // As DL4J's own callers without one.
            } else {
                Function<Subject, Object> value = BY_TYPE.get(types[i]);
                if (value == null) {
                    throw new AssertionError(signature() + ": say here what to give for a " + types[i].getName());
                }
                arguments[i] = value.apply(subject);
            }
        }
        return arguments;
    }

    private static Path saved(Subject subject, Path folder) {
        try {
            Path file = Files.createTempFile(folder, "model", ".zip");
            if (subject.isGraph()) {
                subject.graph().save(file.toFile());
            } else {
                subject.layers().save(file.toFile());
            }
            return file;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static INDArray parameters(Subject subject) {
        return subject.network().params().mul(0.9);
    }

    private static INDArray weights(Subject subject) {
        return subject.network().getParam(subject.parameter()).mul(0.5);
    }

    private static Gradient gradient(Subject subject) {
        Gradient gradient = new DefaultGradient(parameters(subject));
        subject.network().paramTable().forEach((name, values) -> gradient.setGradientFor(name, values.mul(0.1)));
        return gradient;
    }

    private static INDArray[] array(INDArray one) {
        return new INDArray[] {one};
    }

    private static INDArray[] masks(Subject subject) {
        return subject.mask() == null ? null : array(subject.mask());
    }
}
