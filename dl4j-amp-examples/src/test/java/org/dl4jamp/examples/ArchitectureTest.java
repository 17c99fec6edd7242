package org.dl4jamp.examples;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import org.junit.jupiter.api.Test;

/** Who may know whom among the modules that the examples bring together. */
class ArchitectureTest {
    private static final JavaClasses ALL = new ClassFileImporter().importPackages("org.dl4jamp");

    @Test
    void nobodyNamesWhatIsBehindTheDoorOfTheOneDnnEngine() {
        noClasses()
                .that()
                .resideOutsideOfPackage("org.dl4jamp.onednn..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.dl4jamp.onednn.(*)..")
                .check(ALL);
    }

    @Test
    void engineNeutralCodeKnowsNoEngineOfAnotherModule() {
        noClasses()
                .that()
                .resideOutsideOfPackages("org.dl4jamp.onednn..", "org.dl4jamp.examples..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.dl4jamp.onednn..")
                .check(ALL);
    }
}
