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
import org.junit.jupiter.api.Test;

/** Packages of core and their order: a package uses packages before it in this list, and no others. */
class RoomsTest {
    private static final String ROOT = "org.dl4jamp";

    /** The door, which uses everything. */
    private static final String DOOR = "";

    /** For each package those that it may use, which are all before it. */
    private static final Map<String, Set<String>> MAY_USE = new LinkedHashMap<>();

    static {
        room("precision");
        room("scale", "precision");
        room("dl4j", "precision");
        room("config", "precision", "scale");
        room("policy", "precision", "config");
        room("twin", "precision", "dl4j");
        room("layer.standin", "dl4j", "twin");
        room("layer", "precision", "dl4j", "twin", "layer.standin");
        room("network", "precision", "policy", "dl4j", "twin", "layer.standin");
        room("engine", "precision", "policy", "dl4j", "twin");
        room("engine.nd4j", "precision", "policy", "dl4j", "twin", "engine");
        room("inference", "precision", "policy", "dl4j", "twin", "layer", "engine");
        room("gradient", "precision", "scale", "dl4j", "twin", "layer.standin", "layer", "network", "engine");
        room("step", "precision", "scale", "dl4j", "twin", "layer.standin", "layer", "network", "engine", "gradient");
        room("checkpoint", "precision", "config", "scale", "policy", "dl4j", "gradient");
        room("install", MAY_USE.keySet().toArray(String[]::new));
        room(DOOR, MAY_USE.keySet().toArray(String[]::new));
    }

    private static final JavaClasses CORE = new ClassFileImporter()
            // ArchUnit's own option uses Maven's names of folders, which differ with another release of DL4J.
            .withImportOption(location -> !location.contains("/test-classes/"))
            .importPackages(ROOT);

    private static void room(String name, String... mayUse) {
        Set<String> those = Set.of(mayUse);
        assertTrue(MAY_USE.keySet().containsAll(those), () -> name + " may use what is before it only");
        assertEquals(null, MAY_USE.put(name, those), name);
    }

    private static String roomOf(JavaClass type) {
        String name = type.getPackageName();
        return name.equals(ROOT) ? DOOR : name.substring(ROOT.length() + 1);
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
        rooms.removeAll(MAY_USE.keySet());
        assertEquals(Set.of(), rooms);
    }

    @Test
    void packagesUseOnlyThoseBelowThem() {
        assertEquals(Set.of(), arrows(dependency -> {
            JavaClass target = dependency.getTargetClass().getBaseComponentType();
            String from = roomOf(dependency.getOriginClass());
            return isOurs(target)
                    && !from.equals(roomOf(target))
                    && !MAY_USE.getOrDefault(from, Set.of()).contains(roomOf(target));
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
                                // The types that configurations take and return.
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
