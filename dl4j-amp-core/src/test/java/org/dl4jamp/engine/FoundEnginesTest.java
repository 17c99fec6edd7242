package org.dl4jamp.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FoundEnginesTest {
    @TempDir
    private Path folder;

    /** An engine of another version: something that it's made of is missing. */
    public static final class Stale extends FakeEngine {
        public Stale() {
            super("stale");
            throw new NoSuchMethodError("org.dl4jamp.engine.StepKernels.ofAnotherVersion()");
        }
    }

    @Test
    void enginesThatCantBeLoadedAreUnavailableAndTheOthersAreFoundAllTheSame() throws Exception {
        Path services = Files.createDirectories(folder.resolve("META-INF/services"));
        Files.write(
                services.resolve(ComputeEngine.class.getName()),
                List.of("com.example.NowhereEngine", Stale.class.getName(), FoundEnginesTest.class.getName()));
        ClassLoader parent = FoundEnginesTest.class.getClassLoader();
        List<ComputeEngine> found;
        try (URLClassLoader classPath =
                new URLClassLoader(new URL[] {folder.toUri().toURL()}, parent)) {
            found = Engines.by(classPath);
        }

        List<String> loadable = names(Engines.by(parent));
        List<String> expected = new ArrayList<>(loadable);
        expected.addAll(List.of("unknown", "unknown", "unknown"));
        assertEquals(
                expected.stream().sorted().toList(),
                names(found).stream().sorted().toList());
        List<String> reasons = found.stream()
                .filter(engine -> engine.name().equals("unknown"))
                .map(engine -> engine.unavailable().orElseThrow())
                .toList();
        assertTrue(reasons.get(0).contains("com.example.NowhereEngine"), reasons.get(0));
        assertTrue(reasons.get(1).contains("ofAnotherVersion"), reasons.get(1));
        assertTrue(reasons.get(2).contains("not a subtype"), reasons.get(2));
        reasons.forEach(reason -> assertTrue(reason.contains("org.dl4jamp:dl4j-amp-bom"), reason));
    }

    /** An engine that only a class loader of its own names. */
    public static final class Beside extends FakeEngine {
        public Beside() {
            super("beside");
        }
    }

    private static List<String> foundWith(ClassLoader context) {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(context);
        try {
            return names(Engines.found());
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    @Test
    void enginesOfTheThreadsClassLoaderAreFoundBesideThoseOfThisModules() throws Exception {
        Path services = Files.createDirectories(folder.resolve("META-INF/services"));
        Files.write(
                services.resolve(ComputeEngine.class.getName()),
                List.of(Beside.class.getName(), "com.example.NowhereEngine"));
        ClassLoader own = FoundEnginesTest.class.getClassLoader();
        List<String> without = foundWith(own);
        assertEquals("nd4j", without.get(without.size() - 1));
        List<String> with;
        try (URLClassLoader jars = new URLClassLoader(new URL[] {folder.toUri().toURL()}, own)) {
            with = foundWith(jars);
        }
        List<String> expected = new ArrayList<>(without);
        expected.addAll(List.of("beside", "unknown"));
        assertEquals(expected.stream().sorted().toList(), with.stream().sorted().toList());
        assertEquals("nd4j", with.get(with.size() - 1), "the portable engine is the last one");
    }

    @Test
    void aClassLoaderWithoutThisModuleOrWithAnotherCopyOfItAddsNothing() throws Exception {
        List<String> own = foundWith(FoundEnginesTest.class.getClassLoader());
        assertEquals(own, foundWith(null));
        ClassLoader platform = ClassLoader.getPlatformClassLoader();
        assertEquals(own, foundWith(platform));
        URL main = ComputeEngine.class.getProtectionDomain().getCodeSource().getLocation();
        URL test = FoundEnginesTest.class.getProtectionDomain().getCodeSource().getLocation();
        URL nn = Layer.class.getProtectionDomain().getCodeSource().getLocation();
        try (URLClassLoader another = new URLClassLoader(new URL[] {main, test, nn}, platform)) {
            assertNotSame(ComputeEngine.class, another.loadClass(ComputeEngine.class.getName()));
            assertEquals(own, foundWith(another));
        }
    }

    private static List<String> names(List<ComputeEngine> engines) {
        return engines.stream().map(ComputeEngine::name).toList();
    }
}
