package org.dl4jamp.config;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import org.dl4jamp.precision.AmpException;
import org.nd4j.shade.jackson.core.JsonParser;
import org.nd4j.shade.jackson.core.JsonProcessingException;
import org.nd4j.shade.jackson.core.JsonToken;
import org.nd4j.shade.jackson.core.StreamReadFeature;
import org.nd4j.shade.jackson.core.json.JsonWriteFeature;
import org.nd4j.shade.jackson.databind.DeserializationFeature;
import org.nd4j.shade.jackson.databind.JsonNode;
import org.nd4j.shade.jackson.databind.ObjectMapper;
import org.nd4j.shade.jackson.databind.json.JsonMapper;
import org.nd4j.shade.jackson.databind.node.ObjectNode;

/**
 * The fields of a JSON object. Each has to be there, has to be of its type, and none may be left over: otherwise an
 * {@link AmpException} names the error, and {@link #read} adds the source.
 */
public final class JsonFields {
    // DL4J writes and reads the text of its zip entries in the platform's charset: only ASCII survives all of them.
    public static final ObjectMapper MAPPER = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();

    /** Settings and state of a network have some 500 bytes, and some 50 more for each rule. */
    public static final int MOST_BYTES = 1 << 20;
    /** Jackson takes one method call for each level. */
    private static final int DEEPEST = 16;
    /** A double has at most 24 characters; the time to read a whole number grows with the square of them. */
    private static final int LONGEST_NUMBER = 40;

    private final ObjectNode node;
    private final String where;
    private final Set<String> read = new HashSet<>();

    private JsonFields(ObjectNode node, String where) {
        this.node = node;
        this.where = where;
    }

    /**
     * Reads one JSON object.
     *
     * @param where name of the source, for messages
     * @param read reads all its fields
     */
    public static <T> T read(byte[] json, String where, Function<JsonFields, T> read) {
        try {
            checkSize(json, where);
            return whole(MAPPER.readTree(json), where, read);
        } catch (JsonProcessingException e) {
            throw new AmpException(
                    where + ": truncated or not JSON at line " + e.getLocation().getLineNr() + ", column "
                            + e.getLocation().getColumnNr() + " (" + AmpException.quote(e.getOriginalMessage()) + ")",
                    e);
        } catch (IOException e) {
            throw new AmpException(where + ": truncated or not JSON (" + AmpException.quote(e.getMessage()) + ")", e);
        }
    }

    /** Reads an object to its end: ignoring a field that is left over would change a setting silently. */
    private static <T> T whole(JsonNode node, String where, Function<JsonFields, T> read) {
        if (!(node instanceof ObjectNode object)) {
            throw new AmpException(where + ": a JSON object is needed here, not "
                    + (node.isMissingNode() ? "nothing" : AmpException.quote(node)));
        }
        JsonFields fields = new JsonFields(object, where);
        T value;
        try {
            value = read.apply(fields);
        } catch (AmpException e) {
            throw e.getMessage().startsWith(where) ? e : new AmpException(where + ": " + e.getMessage(), e);
        }
        object.fieldNames().forEachRemaining(name -> {
            if (!fields.read.contains(name)) {
                throw new AmpException(where + ": unknown field \"" + AmpException.quote(name)
                        + "\"; it's corrupt or was written by something else");
            }
        });
        return value;
    }

    /** Rejects what would take too long or too much memory to read, before it's read. */
    private static void checkSize(byte[] json, String where) throws IOException {
        if (json.length > MOST_BYTES) {
            throw tooLarge(where);
        }
        try (JsonParser parser = MAPPER.getFactory().createParser(json)) {
            int depth = 0;
            for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
                depth += token.isStructStart() ? 1 : token.isStructEnd() ? -1 : 0;
                if (depth > DEEPEST) {
                    throw new AmpException(where + ": more than " + DEEPEST
                            + " objects or arrays one inside the other; it's corrupt or was written by something else");
                }
                if (token.isNumeric() && parser.getTextLength() > LONGEST_NUMBER) {
                    throw new AmpException(where + ": a number of more than " + LONGEST_NUMBER + " digits, "
                            + AmpException.quote(parser.getText())
                            + "; it's corrupt or was written by something else");
                }
            }
        }
    }

    /** Says that something has more than {@link #MOST_BYTES}. */
    public static AmpException tooLarge(String where) {
        return new AmpException(where + ": more than 1 MB (" + MOST_BYTES
                + " bytes), which settings and state of mixed precision never have; restore from another copy");
    }

    /**
     * Returns a tree as text, in ASCII; unlike its toString(), which escapes nothing.
     *
     * @throws AmpException if it's larger than what is read
     */
    public static String text(ObjectNode json) {
        try {
            String text = MAPPER.writeValueAsString(json);
            if (text.length() > MOST_BYTES) {
                throw new AmpException("the settings of mixed precision take " + text.length() + " bytes as JSON, but "
                        + MOST_BYTES + " is the most; give fewer rules, or rules about more layers at once");
            }
            return text;
        } catch (JsonProcessingException e) {
            throw new AssertionError("a tree of texts and numbers can be written", e);
        }
    }

    /** Reads the version of the format and rejects newer ones than this code reads. */
    public void formatVersion(int newest) {
        int version = integer("formatVersion");
        if (version > newest) {
            throw new AmpException(
                    "format version " + version + ", this dl4j-amp reads up to " + newest + ": upgrade dl4j-amp");
        }
        if (version < 1) {
            throw wrong("formatVersion", "from 1 to " + newest);
        }
    }

    boolean flag(String name) {
        return checked(name, JsonNode::isBoolean, "true or false").booleanValue();
    }

    public String text(String name) {
        return checked(name, JsonNode::isTextual, "a text").textValue();
    }

    public int integer(String name) {
        return checked(name, value -> value.isIntegralNumber() && value.canConvertToInt(), "a whole number of 32 bits")
                .intValue();
    }

    public long wholeNumber(String name) {
        return checked(name, value -> value.isIntegralNumber() && value.canConvertToLong(), "a whole number of 64 bits")
                .longValue();
    }

    public double number(String name) {
        return checked(name, JsonNode::isNumber, "a number").doubleValue();
    }

    public <E extends Enum<E>> E constant(String name, Class<E> type) {
        String text = text(name);
        return Arrays.stream(type.getEnumConstants())
                .filter(constant -> constant.name().equals(text))
                .findFirst()
                .orElseThrow(() -> wrong(name, "one of " + Arrays.toString(type.getEnumConstants())));
    }

    boolean has(String name) {
        return node.has(name);
    }

    /** Reads a field that may be absent. */
    public <T> Optional<T> optional(String name, Function<String, T> read) {
        return has(name) ? Optional.of(read.apply(name)) : Optional.empty();
    }

    public <T> T object(String name, Function<JsonFields, T> read) {
        return whole(checked(name, JsonNode::isObject, "an object"), where + ", " + name, read);
    }

    public <T> Optional<T> optionalObject(String name, Function<JsonFields, T> read) {
        return optional(name, present -> object(present, read));
    }

    <T> List<T> objects(String name, Function<JsonFields, T> read) {
        List<T> objects = new ArrayList<>();
        for (JsonNode element : checked(name, JsonNode::isArray, "an array")) {
            objects.add(whole(element, where + ", " + name + "[" + objects.size() + "]", read));
        }
        return objects;
    }

    AmpException wrong(String name, String allowed) {
        return new AmpException(name + " is " + AmpException.quote(node.get(name)) + ", but has to be " + allowed);
    }

    private JsonNode checked(String name, Predicate<JsonNode> type, String allowed) {
        JsonNode value = node.get(name);
        if (value == null) {
            throw new AmpException(
                    "field \"" + name + "\" is missing; it's truncated or was written by something else");
        }
        if (!type.test(value)) {
            throw wrong(name, allowed);
        }
        read.add(name);
        return value;
    }
}
