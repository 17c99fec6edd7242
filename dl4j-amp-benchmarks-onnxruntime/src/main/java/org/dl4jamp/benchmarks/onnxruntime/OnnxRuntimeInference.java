package org.dl4jamp.benchmarks.onnxruntime;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.dl4jamp.benchmarks.blueprint.Blueprint;
import org.dl4jamp.benchmarks.blueprint.Model;
import org.dl4jamp.benchmarks.blueprint.Tensor;
import org.dl4jamp.benchmarks.side.Inference;
import org.dl4jamp.benchmarks.side.Profile;
import org.dl4jamp.benchmarks.side.Task;

/**
 * A session of ONNX Runtime with all of its optimizations, whose operators run one after another, each with all
 * threads. Inputs are in native memory before a pass, and outputs stay there. With an LSTM, inputs are ordered by time
 * before: that isn't in the figure.
 */
final class OnnxRuntimeInference implements Inference {
    private final OrtEnvironment environment = OrtEnvironment.getEnvironment();
    private final OrtSession.SessionOptions options;
    private final OrtSession session;
    /** Of the same network, for those passes that are recorded; empty if none is. */
    private final Optional<OrtSession> profiled;

    private OrtSession running;
    /** Sequences at once, or each time step. */
    private final List<OnnxTensor> inputs = new ArrayList<>();

    private final Map<String, OnnxTensor> zeros = new HashMap<>();
    private final boolean timeFirst;

    /**
     * @param task sequences at once, or one time step at a time
     * @param threads of each operator
     * @param profile where files with the times of operators begin; empty if none is recorded
     */
    OnnxRuntimeInference(Model model, Task task, int threads, Optional<Path> profile) {
        timeFirst = OnnxNetwork.isTimeFirst(model);
        Tensor features = model.tensors().get(Blueprint.FEATURES);
        Tensor ordered = timeFirst ? swapped(features.shape(), features.values()) : features;
        boolean stepByStep = task == Task.TIME_STEPS;
        long[] shape = ordered.shape();
        int parts = stepByStep ? (int) shape[0] : 1;
        if (stepByStep) {
            shape[0] = 1;
        }
        OnnxNetwork network = new OnnxNetwork(model, shape, stepByStep);
        try {
            options = new OrtSession.SessionOptions();
            options.setIntraOpNumThreads(threads);
            options.setExecutionMode(OrtSession.SessionOptions.ExecutionMode.SEQUENTIAL);
            options.setOptimizationLevel(OrtSession.SessionOptions.OptLevel.ALL_OPT);
            session = environment.createSession(network.bytes(), options);
            running = session;
            if (profile.isPresent()) {
                options.enableProfiling(profile.get().toString());
                profiled = Optional.of(environment.createSession(network.bytes(), options));
            } else {
                profiled = Optional.empty();
            }
            int length = ordered.values().length / parts;
            for (int part = 0; part < parts; part++) {
                inputs.add(tensor(ordered.values(), part * length, length, shape));
            }
            for (Map.Entry<String, long[]> state : network.states().entrySet()) {
                long[] stateShape = state.getValue();
                int numbers = (int) (stateShape[1] * stateShape[2]);
                zeros.put(state.getKey(), tensor(new float[numbers], 0, numbers, stateShape));
            }
        } catch (OrtException e) {
            throw new IllegalStateException("ONNX Runtime can't make a session of the network: " + e.getMessage(), e);
        }
    }

    private OnnxTensor tensor(float[] values, int from, int length, long... shape) throws OrtException {
        FloatBuffer buffer = ByteBuffer.allocateDirect(length * Float.BYTES)
                .order(ByteOrder.nativeOrder())
                .asFloatBuffer();
        return OnnxTensor.createTensor(
                environment, buffer.put(values, from, length).flip(), shape);
    }

    /** Returns the numbers with the first two of three axes the other way round. */
    private static Tensor swapped(long[] shape, float[] values) {
        int first = (int) shape[0];
        int second = (int) shape[1];
        int row = (int) shape[2];
        float[] swapped = new float[values.length];
        for (int i = 0; i < first; i++) {
            for (int j = 0; j < second; j++) {
                System.arraycopy(values, (i * second + j) * row, swapped, (j * first + i) * row, row);
            }
        }
        return new Tensor(new long[] {second, first, row}, swapped);
    }

    @Override
    public void pass() {
        try {
            run().forEach(OrtSession.Result::close);
        } catch (OrtException e) {
            throw failed(e);
        }
    }

    private static IllegalStateException failed(OrtException cause) {
        return new IllegalStateException("ONNX Runtime can't run the network: " + cause.getMessage(), cause);
    }

    /** Runs a pass, and returns a result for each of the inputs, to be closed. */
    private List<OrtSession.Result> run() throws OrtException {
        List<OrtSession.Result> results = new ArrayList<>();
        Map<String, OnnxTensor> given = new HashMap<>(zeros);
        for (OnnxTensor input : inputs) {
            given.put(OnnxNetwork.INPUT, input);
            OrtSession.Result result = running.run(given);
            results.add(result);
            for (String state : zeros.keySet()) {
                given.put(state, get(result, OnnxNetwork.next(state)));
            }
        }
        return results;
    }

    private static OnnxTensor get(OrtSession.Result result, String output) {
        return (OnnxTensor) result.get(output).orElseThrow();
    }

    @Override
    public void recordKernels(boolean isRecorded) {
        running = isRecorded ? profiled.orElseThrow() : session;
    }

    @Override
    public Optional<Profile> kernels(int steps) throws IOException {
        try {
            File file = new File(profiled.orElseThrow().endProfiling());
            return Optional.of(OnnxRuntimeProfile.read(file, steps, inputs.size()));
        } catch (OrtException e) {
            throw failed(e);
        }
    }

    @Override
    public float[] outputs() {
        List<OrtSession.Result> results;
        try {
            results = run();
        } catch (OrtException e) {
            throw failed(e);
        }
        long[] shape = get(results.get(0), OnnxNetwork.OUTPUT).getInfo().getShape();
        int length = get(results.get(0), OnnxNetwork.OUTPUT).getFloatBuffer().remaining();
        float[] outputs = new float[length * results.size()];
        for (int part = 0; part < results.size(); part++) {
            get(results.get(part), OnnxNetwork.OUTPUT).getFloatBuffer().get(outputs, part * length, length);
        }
        results.forEach(OrtSession.Result::close);
        if (!timeFirst) {
            return outputs;
        }
        return swapped(new long[] {shape[0] * results.size(), shape[1], shape[2]}, outputs)
                .values();
    }

    @Override
    public void close() {
        inputs.forEach(OnnxTensor::close);
        zeros.values().forEach(OnnxTensor::close);
        try {
            session.close();
            if (profiled.isPresent()) {
                profiled.get().close();
            }
        } catch (OrtException e) {
            throw new IllegalStateException("ONNX Runtime can't close its session: " + e.getMessage(), e);
        }
        options.close();
    }
}
