package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.layers.feedforward.dense.DenseLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.dl4jamp.config.AmpConfig;
import org.dl4jamp.layer.TwinLayer;
import org.dl4jamp.precision.Precision;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Sgd;

/** Classes of layers that users have written, seen through an enabled network. */
class OwnLayerClassesTest {
    private static final AmpConfig HALF = Gradients.config(Precision.HALF);

    /** In half precision, where a second object of the class computes, and in FP32, where the network's own does. */
    static AmpConfig[] configs() {
        AmpConfig full = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .keepFull(OwnConf.class)
                .build();
        return new AmpConfig[] {HALF, full};
    }

    private final DataSet vectors = Networks.vectors(32, 20, 3);

    /** Its layer is chosen by a name, so that one configuration serves all classes. */
    public static class OwnConf extends org.deeplearning4j.nn.conf.layers.DenseLayer {
        private static final long serialVersionUID = 1L;

        protected DenseLayer layer(NeuralNetConfiguration conf, DataType type) {
            return new OwnLayer(conf, type);
        }

        @Override
        public Layer instantiate(
                NeuralNetConfiguration conf,
                Collection<TrainingListener> listeners,
                int index,
                INDArray params,
                boolean initialize,
                DataType type) {
            return SingleLayer.instantiated(layer(conf, type), listeners, index, params, initialize);
        }
    }

    /** Has the methods that a class can have beside those of DL4J's interfaces, and no state. */
    public static class OwnLayer extends DenseLayer {
        private static final long serialVersionUID = 1L;

        protected final long made = System.nanoTime();

        public OwnLayer(NeuralNetConfiguration conf, DataType type) {
            super(conf, type);
        }

        double factor() {
            return -0.5;
        }

        @Override
        public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
            return super.activate(training, workspaceMgr).muli(factor());
        }

        public String note() {
            return "note";
        }

        protected String noteOfSubclasses() {
            return "of subclasses";
        }

        String noteInPackage() {
            return "in package";
        }

        public final String noteOfFinalMethod() {
            return note() + " of " + made;
        }
    }

    public static class StatefulConf extends OwnConf {
        private static final long serialVersionUID = 1L;

        @Override
        protected DenseLayer layer(NeuralNetConfiguration conf, DataType type) {
            return new StatefulLayer(conf, type);
        }
    }

    public static class StatefulLayer extends OwnLayer {
        private static final long serialVersionUID = 1L;

        public double factor = 1;
        int passes;
        private INDArray weights;

        public StatefulLayer(NeuralNetConfiguration conf, DataType type) {
            super(conf, type);
        }

        @Override
        double factor() {
            return factor;
        }

        @Override
        public INDArray activate(boolean training, LayerWorkspaceMgr workspaceMgr) {
            passes++;
            return super.activate(training, workspaceMgr);
        }

        @Override
        public void setParamTable(Map<String, INDArray> params) {
            super.setParamTable(params);
            weights = params.get("W");
        }
    }

    static class HiddenConf extends OwnConf {
        private static final long serialVersionUID = 1L;

        @Override
        protected DenseLayer layer(NeuralNetConfiguration conf, DataType type) {
            return new HiddenLayer(conf, type);
        }
    }

    private static class HiddenLayer extends OwnLayer {
        private static final long serialVersionUID = 1L;

        HiddenLayer(NeuralNetConfiguration conf, DataType type) {
            super(conf, type);
        }

        String hiddenNote() {
            return "hidden";
        }
    }

    static class FinalConf extends OwnConf {
        private static final long serialVersionUID = 1L;

        @Override
        protected DenseLayer layer(NeuralNetConfiguration conf, DataType type) {
            return new FinalLayer(conf, type);
        }
    }

    static final class FinalLayer extends DenseLayer {
        private static final long serialVersionUID = 1L;

        FinalLayer(NeuralNetConfiguration conf, DataType type) {
            super(conf, type);
        }
    }

    private static MultiLayerNetwork network(org.deeplearning4j.nn.conf.layers.DenseLayer own) {
        own.setNOut(16);
        own.setActivationFn(Activation.TANH.getActivationFunction());
        return Networks.init(Networks.builder(new Sgd(0.1))
                .list()
                .layer(Networks.dense(16, Activation.RELU))
                .layer(own)
                .layer(Networks.softmax(3))
                .setInputType(InputType.feedForward(20))
                .build());
    }

    @ParameterizedTest
    @MethodSource("configs")
    void anOwnLayerIsCastAndHasItsMethods(AmpConfig config) {
        MultiLayerNetwork network = network(new OwnConf());
        OwnLayer own = (OwnLayer) network.getLayer(1);
        String summary = network.summary();
        MixedPrecision amp = MixedPrecision.enable(network, config);
        assertEquals(Precision.HALF, amp.plan().row("layer0").precision());
        assertEquals(
                config == HALF ? Precision.HALF : Precision.FLOAT,
                amp.plan().row("layer1").precision());
        OwnLayer layer = assertInstanceOf(OwnLayer.class, network.getLayer(1));
        assertEquals("note", layer.note());
        assertEquals("of subclasses", layer.noteOfSubclasses());
        assertEquals("in package", layer.noteInPackage());
        assertEquals(own.noteOfFinalMethod(), layer.noteOfFinalMethod());
        assertEquals(summary, network.summary());
        amp.close();
        assertSame(own, network.getLayer(1));
    }

    /** A second object of the class, for half precision, would have fields of its own. */
    @ParameterizedTest
    @MethodSource("configs")
    void aLayerWithStateInItsFieldsComputesItself(AmpConfig config) {
        MultiLayerNetwork stock = network(new StatefulConf());
        MultiLayerNetwork network = stock.clone();
        StatefulLayer own = (StatefulLayer) network.getLayer(1);
        MixedPrecision amp = MixedPrecision.enable(network, config);
        assertEquals(Precision.HALF, amp.plan().row("layer0").precision());
        assertEquals(Precision.FLOAT, amp.plan().row("layer1").precision());
        assertTrue(
                config != HALF || amp.plan().row("layer1").reason().contains("keeps state in fields of its own"),
                amp.plan().toString());
        assertSame(own, MixedPrecision.master(network.getLayer(1)));
        for (StatefulLayer layer : List.of((StatefulLayer) stock.getLayer(1), own)) {
            layer.factor = -3;
            layer.passes = 40;
        }
        Comparison.assertClose(
                stock.output(vectors.getFeatures()), network.output(vectors.getFeatures()), 0.01, "output");
        assertEquals(41, own.passes);
        assertSame(own.getParam("W"), own.weights);
        amp.close();
        assertSame(own, network.getLayer(1));
        assertEquals(41, own.passes);
    }

    @Test
    void aRuleThatLowersALayerWithStateSaysWhyItCant() {
        MultiLayerNetwork network = network(new StatefulConf());
        AmpConfig lowering = AmpConfig.builder()
                .precision(Precision.HALF)
                .engine("nd4j")
                .lower("layer1")
                .build();
        try (MixedPrecision amp = MixedPrecision.enable(network, lowering)) {
            assertEquals(Precision.FLOAT, amp.plan().row("layer1").precision());
            assertTrue(
                    amp.plan().row("layer1").reason().contains("keeps state in fields of its own"),
                    amp.plan().toString());
        }
    }

    @Test
    void inferenceModeLeavesALayerWithStateToItself() {
        MultiLayerNetwork network = network(new StatefulConf());
        StatefulLayer own = (StatefulLayer) network.getLayer(1);
        INDArray expected = network.output(vectors.getFeatures());
        try (InferenceMode mode = MixedPrecision.inference(network, HALF)) {
            Comparison.assertClose(expected, network.output(vectors.getFeatures()), 0.01, "output");
            assertEquals(Precision.FLOAT, mode.plan().row("layer1").precision());
        }
        assertEquals(2, own.passes);
    }

    @ParameterizedTest
    @MethodSource("configs")
    void trainingWithAnOwnLayerFollowsFp32(AmpConfig config) {
        for (OwnConf own : List.of(new OwnConf(), new StatefulConf())) {
            MultiLayerNetwork stock = network(own);
            MultiLayerNetwork network = stock.clone();
            try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
                for (int i = 0; i < 5; i++) {
                    stock.fit(vectors);
                    network.fit(vectors);
                }
                assertEquals(5, amp.stepsTaken());
            }
            Comparison.assertClose(stock.params(), network.params(), 0.01, "parameters");
            if (stock.getLayer(1) instanceof StatefulLayer layer) {
                assertEquals(layer.passes, ((StatefulLayer) network.getLayer(1)).passes);
                assertSame(network.getLayer(1).getParam("W"), ((StatefulLayer) network.getLayer(1)).weights);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("configs")
    void classesThatArentPublicAreCastToo(AmpConfig config) {
        MultiLayerNetwork network = network(new HiddenConf());
        for (int i = 0; i < 2; i++) {
            try (MixedPrecision amp = MixedPrecision.enable(network, config)) {
                HiddenLayer layer = assertInstanceOf(HiddenLayer.class, network.getLayer(1));
                network.fit(vectors);
                assertEquals(1, amp.stepsTaken());
                assertEquals("hidden", layer.hiddenNote());
                assertEquals("in package", layer.noteInPackage());
            }
        }
    }

    @Test
    void aFinalClassIsHandedOutAsItsWrapper() {
        MultiLayerNetwork network = network(new FinalConf());
        Layer own = network.getLayer(1);
        try (MixedPrecision amp = MixedPrecision.enable(network, HALF)) {
            assertInstanceOf(TwinLayer.class, network.getLayer(1));
            assertSame(own, MixedPrecision.master(network.getLayer(1)));
            assertSame(amp, MixedPrecision.of(network).orElseThrow());
        }
        assertSame(own, network.getLayer(1));
        assertSame(own, MixedPrecision.master(own));
        assertNull(MixedPrecision.master(null));
    }

    /** Has its own copy of this test's layer classes, as a program with plugins has. */
    private static final class PluginLoader extends ClassLoader {
        PluginLoader() {
            super(OwnLayerClassesTest.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith(OwnLayerClassesTest.class.getName())) {
                return super.loadClass(name, resolve);
            }
            Class<?> loaded = findLoadedClass(name);
            if (loaded != null) {
                return loaded;
            }
            try (InputStream file = getResourceAsStream(name.replace('.', '/') + ".class")) {
                byte[] bytes = file.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    @Test
    void aLayerOfAnotherClassLoaderIsOfItsClassAndDoesntKeepItsLoader() throws Exception {
        WeakReference<Class<?>> unloaded = new WeakReference<>(trainOwnLayerOfAPlugin());
        for (int i = 0; i < 100 && unloaded.get() != null; i++) {
            System.gc();
            Thread.sleep(20);
        }
        assertNull(unloaded.get());
    }

    private Class<?> trainOwnLayerOfAPlugin() throws Exception {
        ClassLoader plugin = new PluginLoader();
        Class<?> conf = plugin.loadClass(OwnConf.class.getName());
        Class<?> type = plugin.loadClass(OwnLayer.class.getName());
        MultiLayerNetwork network = network((org.deeplearning4j.nn.conf.layers.DenseLayer)
                conf.getDeclaredConstructor().newInstance());
        try (MixedPrecision amp = MixedPrecision.enable(network, HALF)) {
            network.fit(vectors);
            assertEquals(1, amp.stepsTaken());
            Layer layer = network.getLayer(1);
            assertNotNull(type.cast(layer));
            assertTrue(!(layer instanceof OwnLayer), "of the other loader");
            assertEquals("note", type.getMethod("note").invoke(layer));
        }
        return type;
    }
}
