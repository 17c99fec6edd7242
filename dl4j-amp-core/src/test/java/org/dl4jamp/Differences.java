package org.dl4jamp;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The differences of the public methods of DL4J's networks while mixed precision is on, by class and signature. */
final class Differences {
    static final String INTRODUCTION = """
            # What a program may expect while mixed precision is on

            Every public method of DL4J 1.0.0-M2.1's networks is called on a stock network and on one with mixed
            precision. *Same* means that the results, and everything that the call can change, are those of the stock
            network:

            - what the method returns or throws,
            - parameters, updater state, score, counters, output and recurrent state after it,
            - the next training step after it.

            Numbers may differ by up to 2 % of their norm in HALF on ND4J's engine, and by FP32 rounding where
            `AmpConfig` says `FLOAT`. Networks with an autoencoder and a dense layer are called in HALF and FLOAT,
            networks of LSTMs with masks in HALF. *Same: throws* are calls that DL4J rejects on both.

            Each row is a test. It also fails if something that is listed as different isn't, or if DL4J has a method
            that isn't here.

            Two differences have no row, in FP32 on the engine `onednn`:

            - Dropout usually drops the positions that stock DL4J drops for the same seed of ND4J's random generator.
              So does the corruption of an `AutoEncoder` in `pretrain`. They may differ where an array has another
              order in memory, as behind embeddings, `RepeatVector`, `Upsampling1D` and `ZeroPadding1DLayer`. The
              distribution is the same.
            - `FrozenLayerWithBackprop` around an `ActivationLayer` passes the gradient of that function on. Stock
              DL4J overwrites the layer's input before, and computes the gradient for wrong arguments.

            This command writes the page from `Differences.java` beside that test:

            ```
            mvn -Plong -pl dl4j-amp-core -am test -Dtest=TransparencyTableTest -Ddl4jamp.transparency.write=true
            ```
            """;

    private static final String LAYERS = "MultiLayerNetwork";
    private static final String GRAPH = "ComputationGraph";

    private static final String ACTIVATIONS =
            "activations of hidden layers come in the type that the plan says, HALF for example;"
                    + " `castTo(DataType.FLOAT)` before you combine them with FP32 arrays";
    private static final String STAND_IN = "an instance of a subclass of the layer's class, which stands for the layer;"
            + " `MixedPrecision.master(layer)` is the layer itself";
    private static final String UPDATER = "a subclass of DL4J's updater, over the same state";

    private static final Map<String, Map<String, String>> OF = new HashMap<>();

    /** Differences even if nothing is rounded. */
    private static final Set<String> IN_FLOAT = Set.of(
            "equals(Object)",
            "getLayers()",
            "getOutputLayer()",
            "getOutputLayer(int)",
            "getUpdater()",
            "getUpdater(boolean)");

    private static final Set<String> THROWS = Set.of(
            "MultiLayerNetwork.activate(INDArray, boolean, LayerWorkspaceMgr)",
            "MultiLayerNetwork.activate(boolean, LayerWorkspaceMgr)",
            "MultiLayerNetwork.allowInputModification(boolean)",
            "MultiLayerNetwork.backpropGradient(INDArray, LayerWorkspaceMgr)",
            "MultiLayerNetwork.evaluateRegression(MultiDataSetIterator)",
            "MultiLayerNetwork.fit(INDArray, LayerWorkspaceMgr)",
            "MultiLayerNetwork.getConfig()",
            "MultiLayerNetwork.getHelper()",
            "MultiLayerNetwork.setConf(NeuralNetConfiguration)",
            "MultiLayerNetwork.setInput(INDArray, LayerWorkspaceMgr)",
            "MultiLayerNetwork.setMaskArray(INDArray)",
            "MultiLayerNetwork.setParamsViewArray(INDArray)",
            "MultiLayerNetwork.update(INDArray, String)",
            "ComputationGraph.backpropGradient(INDArray[])",
            "ComputationGraph.fit(INDArray, LayerWorkspaceMgr)",
            "ComputationGraph.setConf(NeuralNetConfiguration)",
            "ComputationGraph.setParamsViewArray(INDArray)",
            "ComputationGraph.update(INDArray, String)");

    static {
        for (String type : List.of(LAYERS, GRAPH)) {
            differs(
                    type,
                    "calls on the closed network throw `IllegalStateException` where DL4J throws"
                            + " `IllegalArgumentException`",
                    "close()");
            differs(type, UPDATER, "getUpdater()", "getUpdater(boolean)");
            differs(type, STAND_IN, "getLayer(int)", "getLayers()");
            differs(type, ACTIVATIONS, "feedForward()", "feedForward(boolean)", "feedForward(INDArray, boolean)");
        }
        differs(LAYERS, STAND_IN, "getLayer(String)", "getOutputLayer()");
        differs(LAYERS, "`false` for a copy, whose layers are the network's own", "equals(Object)");
        differs(
                LAYERS,
                ACTIVATIONS,
                "feedForward(INDArray)",
                "feedForward(INDArray, INDArray, INDArray)",
                "feedForward(boolean, boolean)",
                "feedForwardToLayer(int, INDArray)",
                "feedForwardToLayer(int, INDArray, boolean)",
                "feedForwardToLayer(int, boolean)",
                "activateSelectedLayers(int, int, INDArray)",
                "rnnActivateUsingStoredState(INDArray, boolean, boolean)");
        differs(GRAPH, STAND_IN, "getLayer(String)", "getOutputLayer(int)");
        differs(
                GRAPH,
                ACTIVATIONS,
                "feedForward(INDArray, int, boolean)",
                "feedForward(INDArray[], boolean)",
                "feedForward(INDArray[], boolean, boolean)",
                "feedForward(INDArray[], int, boolean)",
                "feedForward(INDArray[], int, boolean, boolean)",
                "feedForward(boolean, boolean, boolean)",
                "feedForward(boolean, int)",
                "output(List, boolean, INDArray[], INDArray[])",
                "rnnActivateUsingStoredState(INDArray[], boolean, boolean)");
    }

    private Differences() {}

    private static void differs(String type, String how, String... signatures) {
        for (String signature : signatures) {
            OF.computeIfAbsent(type, any -> new HashMap<>()).put(signature, how);
        }
    }

    static Optional<String> of(String type, String signature) {
        return Optional.ofNullable(OF.get(type).get(signature));
    }

    static boolean inFloat(String type, String signature) {
        return IN_FLOAT.contains(signature) && of(type, signature).isPresent();
    }

    static Set<String> listed(String type) {
        return OF.get(type).keySet();
    }

    static boolean throwsInStock(String type, String signature) {
        return THROWS.contains(type + "." + signature);
    }
}
