package org.dl4jamp;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What holds for each module: it's compiled and run in all of them, and looks at the module's own classes. */
class ModuleTest {
    private static final String ONE_DNN = "org.dl4jamp.onednn..";

    /** Part of the training step, in a module of its own. */
    private static final String HEAL = "org.dl4jamp.heal..";

    /** What the published Javadoc leaves out. */
    private static final String[] INTERNAL = Stream.of(
                    System.getProperty("amp.internal.packages").split(":"))
            .map(name -> name.endsWith(".*") ? name.replace(".*", ".(*)..") : name)
            .toArray(String[]::new);

    private static final JavaClasses MODULE = new ClassFileImporter().importPath(mainClasses());

    /** Each package by itself, the root included, which a pattern of names would leave out. */
    private static final SliceAssignment PACKAGES = new SliceAssignment() {
        @Override
        public SliceIdentifier getIdentifierOf(JavaClass type) {
            return type.getPackageName().startsWith("org.dl4jamp")
                    ? SliceIdentifier.of(type.getPackageName())
                    : SliceIdentifier.ignore();
        }

        @Override
        public String getDescription() {
            return "packages";
        }
    };

    private static Path mainClasses() {
        try {
            return Path.of(ModuleTest.class
                            .getProtectionDomain()
                            .getCodeSource()
                            .getLocation()
                            .toURI())
                    .resolveSibling("classes");
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void thereAreNoCirclesOfPackages() {
        assertTrue(MODULE.stream().anyMatch(type -> type.getPackageName().startsWith("org.dl4jamp")));
        slices().assignedFrom(PACKAGES).should().beFreeOfCycles().check(MODULE);
    }

    @Test
    void noPackageHasMoreThanTwentyClasses() {
        Map<String, Long> sizes = MODULE.stream()
                .filter(type -> type.isTopLevelClass() && !type.getSimpleName().equals("package-info"))
                .collect(Collectors.groupingBy(JavaClass::getPackageName, Collectors.counting()));
        sizes.values().removeIf(size -> size <= 20);
        assertEquals(Map.of(), sizes);
    }

    /** But for engines and healing, which are made of the core's parts. */
    @Test
    void nothingInternalOfAnotherModuleIsNamed() {
        DescribedPredicate<JavaClass> ofAnother = DescribedPredicate.describe(
                "of another module",
                type -> !MODULE.contain(type.getBaseComponentType().getName()));
        noClasses()
                .that()
                .resideOutsideOfPackages(ONE_DNN, HEAL)
                .should()
                .dependOnClassesThat(resideInAnyPackage(INTERNAL).and(ofAnother))
                .allowEmptyShould(true)
                .check(MODULE);
    }

    /** The examples alone say that there is one. */
    @Test
    void engineNeutralCodeKnowsNoEngineOfAnotherModule() {
        noClasses()
                .that()
                .resideOutsideOfPackages(ONE_DNN, "org.dl4jamp.examples..")
                .should()
                .dependOnClassesThat(resideInAPackage(ONE_DNN))
                .allowEmptyShould(true)
                .check(MODULE);
    }
}
