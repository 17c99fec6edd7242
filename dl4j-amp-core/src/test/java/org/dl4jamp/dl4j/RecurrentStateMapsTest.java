package org.dl4jamp.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.layers.recurrent.BaseRecurrentLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.dl4jamp.Networks;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class RecurrentStateMapsTest {
    @Test
    void isInTheMapsThatARecurrentLayerIsGiven() throws ReflectiveOperationException {
        MultiLayerNetwork network = Networks.init(Networks.lstm());
        BaseRecurrentLayer<?> layer = (BaseRecurrentLayer<?>) network.getLayer(0);
        Map<String, INDArray> between = Map.of("prevAct", Nd4j.ones(DataType.FLOAT, 1, 2));
        Map<String, INDArray> truncated = Map.of("prevAct", Nd4j.zeros(DataType.FLOAT, 1, 2));
        layer.rnnSetPreviousState(between);
        layer.rnnSetTBPTTState(truncated);
        List<Field> fields = Arrays.stream(BaseRecurrentLayer.class.getDeclaredFields())
                .filter(RecurrentStateMaps::isIn)
                .toList();
        assertEquals(2, fields.size());
        for (Field field : fields) {
            field.setAccessible(true);
            assertEquals(field.getName().startsWith("tBptt") ? truncated : between, field.get(layer));
        }
    }
}
