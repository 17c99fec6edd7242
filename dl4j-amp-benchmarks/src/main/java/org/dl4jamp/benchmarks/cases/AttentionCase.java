package org.dl4jamp.benchmarks.cases;

import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.weights.WeightInit;
import org.dl4jamp.benchmarks.side.Schedule;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Encoder blocks of a transformer that classify each step of a sequence. A block is self attention with several heads
 * and a feed-forward network on each step, both with residual sums. DL4J has no layer normalization of sequences, so
 * there is none. Convolutions of one step are the products on each step.
 *
 * @param name of the case
 * @param blocks how many
 * @param heads heads of an attention layer
 * @param units numbers of a step in the residual stream
 * @param hidden units of a feed-forward network
 * @param steps length of a sequence
 * @param minibatch sequences
 * @param schedule of a repetition
 */
public record AttentionCase(
        String name, int blocks, int heads, int units, int hidden, int steps, int minibatch, Schedule schedule)
        implements BenchmarkCase {
    private static final int FEATURES = 64;
    private static final int CLASSES = 16;

    @Override
    public String description() {
        return blocks + " encoder blocks of " + heads + " heads, " + units + " units and feed-forward " + hidden + ", "
                + steps + " steps, batch " + minibatch;
    }

    @Override
    public String updater() {
        return "Adam";
    }

    @Override
    public BenchmarkCase ofBatch(int examples) {
        return new AttentionCase(name, blocks, heads, units, hidden, steps, examples, schedule);
    }

    @Override
    public NeuralNetwork network() {
        // Activations have a variance of about one, or else the softmax of the scores would be uniform.
        GraphBuilder graph = new NeuralNetConfiguration.Builder()
                .seed(20260106)
                .weightInit(WeightInit.LECUN_NORMAL)
                .updater(new Adam(1e-4))
                .graphBuilder()
                .addInputs("steps")
                .addLayer("embedding", product(units, Activation.IDENTITY), "steps");
        String stream = "embedding";
        for (int block = 0; block < blocks; block++) {
            stream = add(graph, stream, block);
        }
        graph.addLayer(
                        "output",
                        new RnnOutputLayer.Builder(LossFunction.MCXENT)
                                .nOut(CLASSES)
                                .activation(Activation.SOFTMAX)
                                .build(),
                        stream)
                .setOutputs("output")
                .setInputTypes(InputType.recurrent(FEATURES, steps));
        ComputationGraph network = new ComputationGraph(graph.build());
        network.init();
        return network;
    }

    /** Adds a block, and returns the name of its output. */
    private String add(GraphBuilder graph, String input, int block) {
        SelfAttentionLayer attention = new SelfAttentionLayer.Builder()
                .nOut(units)
                .nHeads(heads)
                .projectInput(true)
                .build();
        graph.addLayer("attention_" + block, attention, input)
                .addVertex("attended_" + block, sum(), input, "attention_" + block)
                .addLayer("wide_" + block, product(hidden, Activation.RELU), "attended_" + block)
                .addLayer("narrow_" + block, product(units, Activation.IDENTITY), "wide_" + block)
                .addVertex("block_" + block, sum(), "attended_" + block, "narrow_" + block);
        return "block_" + block;
    }

    private static Convolution1DLayer product(int outputs, Activation activation) {
        return new Convolution1DLayer.Builder(1)
                .nOut(outputs)
                .activation(activation)
                .build();
    }

    private static ElementWiseVertex sum() {
        return new ElementWiseVertex(ElementWiseVertex.Op.Add);
    }

    @Override
    public DataSet batch() {
        RandomBatch random = new RandomBatch(minibatch);
        return new DataSet(random.features(FEATURES, steps), random.oneHot(CLASSES, steps));
    }
}
