import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * A program without dl4j-amp: reads models, trains them one step further, and writes their
 * parameters as text. Arguments: folder with net.zip, graph.zip, net.json and graph.yaml; file to write.
 */
public class PlainDl4j {
    public static void main(String[] arguments) throws Exception {
        try {
            Class.forName("org.dl4jamp.config.AmpConfig");
            throw new AssertionError("dl4j-amp is on the class path");
        } catch (ClassNotFoundException e) {
            // as it should be
        }
        Path folder = Path.of(arguments[0]);
        INDArray features = Nd4j.linspace(-1, 1, 32).castTo(Nd4j.defaultFloatingPointType()).reshape(8, 4);
        INDArray labels = Nd4j.zeros(8, 3);
        for (int i = 0; i < 8; i++) {
            labels.putScalar(i, i % 3, 1);
        }
        DataSet batch = new DataSet(features, labels);

        MultiLayerNetwork net = MultiLayerNetwork.load(folder.resolve("net.zip").toFile(), true);
        net.fit(batch);
        MultiLayerNetwork fresh = new MultiLayerNetwork(MultiLayerConfiguration.fromJson(Files.readString(folder.resolve("net.json"))));
        fresh.init();
        fresh.fit(batch);
        ComputationGraph graph = ComputationGraph.load(folder.resolve("graph.zip").toFile(), true);
        graph.fit(batch);
        ComputationGraph freshGraph =
                new ComputationGraph(ComputationGraphConfiguration.fromYaml(Files.readString(folder.resolve("graph.yaml"))));
        freshGraph.init();
        freshGraph.fit(batch);

        StringBuilder text = new StringBuilder();
        for (INDArray parameters : new INDArray[] {net.params(), fresh.params(), graph.params(), freshGraph.params()}) {
            text.append(Arrays.toString(parameters.toFloatVector())).append('\n');
        }
        Files.writeString(Path.of(arguments[1]), text);
    }
}
