package org.dl4jamp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.dl4jamp.checkpoint.AmpModelSerializer;
import org.junit.jupiter.api.Test;

/**
 * Which room of the core may name which. Two packages are of two floors each, because their names are users': in {@code org.dl4jamp} are the words that all rooms
 * speak, the settings, and the door that leads to everything; and {@code AmpModelSerializer} is a door like {@code MixedPrecision}, on top of the state that both of them
 * read and write.
 */
class RoomsTest {
    private static final String ROOT = "org.dl4jamp";
    private static final String WORDS = "words";
    private static final String SETTINGS = "settings";
    private static final String DOOR = "door";

    private static final Set<Class<?>> ALL_ROOMS_SPEAK = Set.of(AmpException.class, Precision.class, OptLevel.class);
    /** Settings, and how they're written; that they are serializable ties the two together. */
    private static final Set<String> TO_BE_SET = Set.of(
            AmpConfig.class.getName(),
            GivenScaler.class.getName(),
            GradientPenalty.class.getName(),
            PartialGroup.class.getName(),
            ROOT + ".checkpoint.AmpConfigJson",
            ROOT + ".checkpoint.JsonFields",
            ROOT + ".checkpoint.SerializedConfig");
    /** Of a package where others are below the door. */
    private static final Set<String> AT_THE_DOOR =
            Set.of(AmpModelSerializer.class.getName(), ROOT + ".checkpoint.ModelReader");

    /** For each room those that it may name, which are all before it. */
    private static final Map<String, Set<String>> MAY_NAME = new LinkedHashMap<>();

    static {
        room(WORDS);
        room("scale", WORDS);
        room("policy", WORDS);
        room(SETTINGS, WORDS, "scale", "policy");
        room("dl4j", WORDS);
        room("checkpoint", WORDS, "scale", "policy", SETTINGS, "dl4j");
        room("twin", WORDS, "dl4j");
        room("layer.standin", "dl4j", "twin");
        room("layer", WORDS, "dl4j", "twin", "layer.standin");
        room("network", WORDS, "policy", "dl4j", "twin", "layer.standin");
        room("engine", WORDS, "policy", SETTINGS, "dl4j", "twin");
        room("engine.host", WORDS, "dl4j", "engine");
        room("engine.nd4j", WORDS, "dl4j", "twin", "engine");
        room("step", WORDS, "scale", "dl4j", "twin", "layer.standin", "layer", "network", "engine");
        room("inference", WORDS, "policy", "dl4j", "twin", "layer", "engine", "engine.host");
        room(DOOR, MAY_NAME.keySet().toArray(String[]::new));
    }

    private static final JavaClasses CORE = new ClassFileImporter()
            // ArchUnit's own option knows Maven's folders by names that they don't have with another release of DL4J.
            .withImportOption(location -> !location.contains("/test-classes/"))
            .importPackages(ROOT);

    private static void room(String name, String... mayName) {
        Set<String> those = Set.of(mayName);
        assertTrue(MAY_NAME.keySet().containsAll(those), () -> name + " may name what is above it, or itself");
        assertEquals(null, MAY_NAME.put(name, those), name);
    }

    private static String roomOf(JavaClass type) {
        JavaClass outer = type;
        while (outer.getEnclosingClass().isPresent()) {
            outer = outer.getEnclosingClass().get();
        }
        if (TO_BE_SET.contains(outer.getName())) {
            return SETTINGS;
        }
        if (outer.getPackageName().equals(ROOT)) {
            JavaClass top = outer;
            return ALL_ROOMS_SPEAK.stream().anyMatch(top::isEquivalentTo) ? WORDS : DOOR;
        }
        return AT_THE_DOOR.contains(outer.getName())
                ? DOOR
                : outer.getPackageName().substring(ROOT.length() + 1);
    }

    private static Set<String> arrows(Predicate<Dependency> which) {
        Set<String> found = new TreeSet<>();
        for (JavaClass type : CORE) {
            for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
                if (which.test(dependency)) {
                    found.add(type.getName() + " -> "
                            + dependency.getTargetClass().getBaseComponentType().getName());
                }
            }
        }
        return found;
    }

    private static boolean isOurs(JavaClass type) {
        return type.getPackageName().equals(ROOT) || type.getPackageName().startsWith(ROOT + ".");
    }

    @Test
    void eachPackageIsARoom() {
        Set<String> rooms = new TreeSet<>();
        CORE.forEach(type -> rooms.add(roomOf(type)));
        assertTrue(rooms.size() > 10, rooms::toString);
        rooms.removeAll(MAY_NAME.keySet());
        assertEquals(Set.of(), rooms);
    }

    @Test
    void roomsNameOnlyThoseBelowThemAndNoneNamesOneThatNamesIt() {
        assertEquals(Set.of(), arrows(dependency -> {
            JavaClass target = dependency.getTargetClass().getBaseComponentType();
            String from = roomOf(dependency.getOriginClass());
            return isOurs(target)
                    && !from.equals(roomOf(target))
                    && !MAY_NAME.getOrDefault(from, Set.of()).contains(roomOf(target));
        }));
    }

    /** Pure arithmetic. */
    @Test
    void lossScalersKnowNeitherDl4jNorNd4j() {
        assertEquals(Set.of(), foreign("scale", List.of("java.")));
    }

    /** The planner reads configurations, before there is a network or an array. */
    @Test
    void policyKnowsConfigurationsAndNeitherNetworksNorArrays() {
        assertEquals(
                Set.of(),
                foreign(
                        "policy",
                        List.of(
                                "java.",
                                "org.deeplearning4j.nn.conf.",
                                // What configurations are asked for, and answer with.
                                "org.deeplearning4j.nn.api.ParamInitializer",
                                "org.deeplearning4j.nn.params.",
                                "org.nd4j.linalg.activations.")));
    }

    private static Set<String> foreign(String room, List<String> allowed) {
        return arrows(dependency -> {
            JavaClass target = dependency.getTargetClass().getBaseComponentType();
            return roomOf(dependency.getOriginClass()).equals(room)
                    && !target.isPrimitive()
                    && !isOurs(target)
                    && allowed.stream().noneMatch(target.getName()::startsWith);
        });
    }
}
