package org.dl4jamp.inspect.compare.report;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import java.io.IOException;
import java.io.Serial;
import java.util.Optional;
import org.dl4jamp.inspect.compare.Comparison;

/** A comparison as JSON. Numbers that aren't finite, and what is absent, are null. */
public final class ComparisonJson {
    private static final ObjectMapper MAPPER = new ObjectMapper()
            .registerModule(new SimpleModule()
                    .addSerializer(Double.class, new Doubles())
                    .addSerializer(Double.TYPE, new Doubles())
                    .addSerializer(new Optionals()));

    private ComparisonJson() {}

    /**
     * Returns the comparison with what was compared.
     *
     * @param model the model's file or another name
     * @param data the batches, in words
     */
    public static JsonNode of(String model, String data, Comparison comparison) {
        ObjectNode all = MAPPER.createObjectNode();
        all.put("model", model);
        all.put("data", data);
        all.set("comparison", MAPPER.valueToTree(comparison));
        return all;
    }

    private static final class Doubles extends StdSerializer<Double> {
        @Serial
        private static final long serialVersionUID = 1L;

        Doubles() {
            super(Double.class);
        }

        @Override
        public void serialize(Double value, JsonGenerator to, SerializerProvider provider) throws IOException {
            if (Double.isFinite(value)) {
                to.writeNumber(value);
            } else {
                to.writeNull();
            }
        }
    }

    private static final class Optionals extends StdSerializer<Optional<?>> {
        @Serial
        private static final long serialVersionUID = 1L;

        Optionals() {
            super(Optional.class, false);
        }

        @Override
        public void serialize(Optional<?> value, JsonGenerator to, SerializerProvider provider) throws IOException {
            provider.defaultSerializeValue(value.orElse(null), to);
        }
    }
}
