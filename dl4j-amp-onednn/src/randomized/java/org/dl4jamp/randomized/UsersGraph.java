package org.dl4jamp.randomized;

import java.util.Map;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.samediff.SDLayerParams;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.weights.WeightInit;
import org.nd4j.autodiff.samediff.SDVariable;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A layer of a user's that is a graph of SameDiff operations, some of which are products of matrices. */
public final class UsersGraph extends SameDiffLayer {
    private static final long serialVersionUID = 1L;

    private static final String WEIGHTS = "W";
    private static final String BIAS = "b";

    private Kind kind;
    private long inputs;
    private long units;

    /** The graphs. */
    public enum Kind {
        PRODUCT,
        TRANSPOSED,
        /** Its bias has a gradient of its own operation, with which ND4J throws for one example. */
        LINEAR,
        /** Products of all pairs of features, and then of all pairs with weights. */
        STACKS,
        /** Steps weighted by their products with others. */
        SEQUENCES;

        private long[] weights(long inputs, long units) {
            return switch (this) {
                case STACKS -> new long[] {inputs * inputs, units};
                case SEQUENCES -> new long[] {1, inputs, 1};
                default -> new long[] {inputs, units};
            };
        }

        private long[] bias(long inputs, long units) {
            return this == SEQUENCES ? new long[] {1, inputs, 1} : new long[] {1, units};
        }

        private SDVariable sums(SameDiff graph, SDVariable x, SDVariable weights, SDVariable bias, long inputs) {
            return switch (this) {
                case PRODUCT -> x.mmul(weights).add(bias);
                case TRANSPOSED -> graph.mmul(weights, x, true, true, true).add(bias);
                case LINEAR -> graph.nn().linear(x, weights, bias.reshape(bias.getShape()[1]));
                case STACKS -> pairs(graph, x, inputs).mmul(weights).add(bias);
                case SEQUENCES ->
                    graph.mmul(x.mul(weights), graph.mmul(x, x, true, false, false), false, false, false)
                            .add(bias);
            };
        }

        private static SDVariable pairs(SameDiff graph, SDVariable x, long inputs) {
            int count = Math.toIntExact(inputs);
            SDVariable pairs = graph.mmul(x.reshape(-1, count, 1), x.reshape(-1, 1, count), false, false, false);
            return pairs.reshape(-1, count * count);
        }
    }

    /** For JSON. */
    public UsersGraph() {}

    /** @param units the number of outputs, which of sequences is that of inputs */
    UsersGraph(Kind kind, long units) {
        this.kind = kind;
        this.units = units;
    }

    public Kind getKind() {
        return kind;
    }

    public void setKind(Kind kind) {
        this.kind = kind;
    }

    public long getInputs() {
        return inputs;
    }

    public void setInputs(long inputs) {
        this.inputs = inputs;
    }

    public long getUnits() {
        return units;
    }

    public void setUnits(long units) {
        this.units = units;
    }

    @Override
    public void setNIn(InputType type, boolean override) {
        inputs = type instanceof InputType.InputTypeRecurrent sequences
                ? sequences.getSize()
                : ((InputType.InputTypeFeedForward) type).getSize();
    }

    @Override
    public InputType getOutputType(int index, InputType type) {
        return kind == Kind.SEQUENCES ? type : InputType.feedForward(units);
    }

    @Override
    public void defineParameters(SDLayerParams parameters) {
        parameters.addWeightParam(WEIGHTS, kind.weights(inputs, units));
        parameters.addBiasParam(BIAS, kind.bias(inputs, units));
    }

    @Override
    public void initializeParameters(Map<String, INDArray> parameters) {
        initWeights((int) inputs, (int) units, WeightInit.XAVIER, parameters.get(WEIGHTS));
        parameters.get(BIAS).assign(0.1);
    }

    @Override
    public SDVariable defineLayer(
            SameDiff graph, SDVariable input, Map<String, SDVariable> parameters, SDVariable mask) {
        SDVariable sums = kind.sums(graph, input, parameters.get(WEIGHTS), parameters.get(BIAS), inputs);
        return graph.nn().tanh(sums);
    }

    @Override
    public boolean equals(Object other) {
        return super.equals(other)
                && other instanceof UsersGraph graph
                && kind == graph.kind
                && inputs == graph.inputs
                && units == graph.units;
    }

    @Override
    public int hashCode() {
        return super.hashCode() * 31 + kind.hashCode();
    }

    @Override
    public String toString() {
        return "UsersGraph(" + kind + ", " + inputs + ", " + units + ")";
    }
}
