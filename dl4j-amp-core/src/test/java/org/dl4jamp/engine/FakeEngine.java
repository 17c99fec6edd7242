package org.dl4jamp.engine;

import java.util.Optional;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.dl4jamp.precision.Precision;

/** Engines for the tests of the choice between engines; they compute nothing. */
abstract class FakeEngine implements ComputeEngine {
    private final String name;

    FakeEngine(String name) {
        this.name = name;
    }

    /** Can't be used. */
    public static final class Broken extends FakeEngine {
        public Broken() {
            super("broken");
        }

        @Override
        public Optional<String> unavailable() {
            return Optional.of("its native library is missing");
        }
    }

    /** Can be used, for BFLOAT16 only, and isn't fast. */
    public static final class BrainOnly extends FakeEngine {
        public BrainOnly() {
            super("brain-only");
        }

        @Override
        public Optional<String> cannot(Precision precision) {
            return precision == Precision.HALF ? Optional.of("it knows BFLOAT16 only") : Optional.empty();
        }
    }

    /** Computes FP32 faster than DL4J, and no half precision fast. */
    static final class Quick extends FakeEngine {
        Quick() {
            super("quick");
        }

        @Override
        public boolean computesFloat() {
            return true;
        }
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Optional<String> unavailable() {
        return Optional.empty();
    }

    @Override
    public Optional<String> cannot(Precision precision) {
        return Optional.empty();
    }

    @Override
    public Optional<String> cannot(Layer layer, Precision precision) {
        return Optional.of("it computes nothing");
    }

    @Override
    public String how(Layer layer, Precision precision) {
        throw new UnsupportedOperationException(name + " computes nothing");
    }

    @Override
    public Precision automaticPrecision() {
        return Precision.FLOAT;
    }

    @Override
    public String automaticReason() {
        return name + " computes nothing";
    }

    @Override
    public EngineSession session(long largestLayer, boolean masterWeights) {
        throw new UnsupportedOperationException(name + " computes nothing");
    }
}
