package org.dl4jamp.onednn;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The rooms of this engine and their floors: classes of a room name those of the floors below, and no others. */
class RoomsTest {
    private static final String ENGINE = RoomsTest.class.getPackageName();

    /** From the roof to the cellar. Rooms of one floor don't use each other. */
    private static final List<Set<String>> FLOORS = List.of(
            Set.of(ENGINE),
            rooms("recurrent"),
            rooms("cell"),
            rooms("attention"),
            rooms("scores"),
            rooms("output", "pretrained", "capsule"),
            rooms("linear"),
            rooms("local", "normalization", "pooling", "embedding", "shape", "vertex", "user", "samediff"),
            rooms("twin"),
            rooms("activation"),
            rooms("weights"),
            rooms("primitive"),
            rooms("memory", "host"),
            Set.of("org.dl4jamp.extension"));

    /** Without those of tests, which use what they test from everywhere. */
    private static final JavaClasses CLASSES = new ClassFileImporter()
            .importUrl(OneDnnEngine.class.getProtectionDomain().getCodeSource().getLocation());

    private static Set<String> rooms(String... names) {
        return Stream.of(names).map(name -> ENGINE + "." + name).collect(Collectors.toUnmodifiableSet());
    }

    static Stream<String> allRooms() {
        return FLOORS.stream().flatMap(Collection::stream).sorted();
    }

    @Test
    void everyClassIsInARoomThatHasAFloor() {
        Set<String> packages =
                CLASSES.stream().map(JavaClass::getPackageName).collect(Collectors.toCollection(TreeSet::new));
        assertEquals(allRooms().collect(Collectors.toCollection(TreeSet::new)), packages);
    }

    @ParameterizedTest
    @MethodSource("allRooms")
    void aRoomKnowsThoseBelowItOnly(String room) {
        List<String> others = new ArrayList<>(notBelow(room));
        others.remove(room);
        if (!others.isEmpty()) {
            noClasses()
                    .that()
                    .resideInAPackage(room)
                    .should()
                    .dependOnClassesThat()
                    .resideInAnyPackage(others.toArray(String[]::new))
                    .check(CLASSES);
        }
    }

    private static List<String> notBelow(String room) {
        List<String> rooms = new ArrayList<>();
        for (Set<String> floor : FLOORS) {
            rooms.addAll(floor);
            if (floor.contains(room)) {
                return Collections.unmodifiableList(rooms);
            }
        }
        throw new IllegalArgumentException(room + " is on no floor");
    }

    @Test
    void thereAreNoCirclesOfRooms() {
        slices().matching(ENGINE + ".(*)").should().beFreeOfCycles().check(CLASSES);
    }

    @Test
    void onlyTheEngineIsThereForOthers() {
        classes()
                .that()
                .resideInAPackage(ENGINE)
                .and()
                .arePublic()
                .should()
                .be(OneDnnEngine.class)
                .check(CLASSES);
    }
}
