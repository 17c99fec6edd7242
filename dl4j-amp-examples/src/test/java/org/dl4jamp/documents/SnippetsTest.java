package org.dl4jamp.documents;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Java code in the README and in docs compiles, apart from that for Spark, which isn't on this class path. */
class SnippetsTest {
    private static final Pattern PROGRAM = Pattern.compile("public class (\\w+)");

    /** The declarations that snippets assume. */
    private static final String FIELDS = """
            static MultiLayerNetwork net, one, another;
            static DataSetIterator iterator;
            static List<DataSet> batches;
            static INDArray features;
            static MultiLayerConfiguration plainConf;
            static AmpConfig config;
            static MixedPrecision amp;
            static int epochs;
            static ParallelWrapper wrapper;
            static StatsStorage storage;
            """;

    private static final List<String> MODULES = List.of(
            "dl4j-amp-core",
            "dl4j-amp-inspect",
            "dl4j-amp-listeners",
            "dl4j-amp-parallel",
            "dl4j-amp-scale",
            "dl4j-amp-ui");

    private static final List<String> IMPORTS_OF_DL4J = List.of(
            "java.io.File",
            "java.nio.file.Files",
            "java.nio.file.Path",
            "java.util.*",
            "org.deeplearning4j.core.storage.StatsStorage",
            "org.deeplearning4j.core.storage.impl.RemoteUIStatsStorageRouter",
            "org.deeplearning4j.nn.conf.MultiLayerConfiguration",
            "org.deeplearning4j.nn.conf.layers.*",
            "org.deeplearning4j.nn.multilayer.MultiLayerNetwork",
            "org.deeplearning4j.optimize.listeners.ScoreIterationListener",
            "org.deeplearning4j.parallelism.ParallelInference",
            "org.deeplearning4j.parallelism.ParallelWrapper",
            "org.deeplearning4j.parallelism.ParallelWrapper.TrainingMode",
            "org.deeplearning4j.ui.model.stats.StatsListener",
            "org.deeplearning4j.ui.model.storage.FileStatsStorage",
            "org.deeplearning4j.ui.model.storage.InMemoryStatsStorage",
            "org.nd4j.linalg.api.buffer.DataType",
            "org.nd4j.linalg.api.ndarray.INDArray",
            "org.nd4j.linalg.dataset.DataSet",
            "org.nd4j.linalg.dataset.MultiDataSet",
            "org.nd4j.linalg.dataset.api.iterator.DataSetIterator");

    @TempDir
    private Path classes;

    @Test
    void javaCodeInDocumentsCompiles() throws IOException {
        List<JavaFileObject> sources = new ArrayList<>();
        String imports = imports();
        for (Page page : Page.all()) {
            for (Page.Block block : page.blocks()) {
                if (block.language().equals("java") && !block.code().contains("spark")) {
                    sources.add(source(page, block, imports));
                }
            }
        }
        assertTrue(sources.size() > 10, "found no more than " + sources.size() + " blocks of Java");

        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StringWriter errors = new StringWriter();
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        List<String> options = List.of("-proc:none", "-nowarn", "-d", classes.toString(), "-classpath", classPath);
        boolean compiles =
                compiler.getTask(errors, null, null, options, null, sources).call();
        assertEquals("", compiles ? "" : errors.toString());
    }

    /** A program as it is; other code as the body of a method, of a class that is named after its place. */
    private static JavaFileObject source(Page page, Page.Block block, String imports) {
        Matcher program = PROGRAM.matcher(block.code());
        if (program.find()) {
            return inMemory(program.group(1), block.code());
        }
        String name = page.at(block.line()).replaceAll("\\W", "_");
        return inMemory(
                name,
                imports + "class " + name + " {\n" + FIELDS + "void run() throws Exception {\n" + block.code()
                        + "}\n}\n");
    }

    private static JavaFileObject inMemory(String name, String code) {
        return new SimpleJavaFileObject(URI.create("string:///" + name + ".java"), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                return code;
            }
        };
    }

    private static String imports() throws IOException {
        Set<String> packages = new TreeSet<>();
        for (String module : MODULES) {
            Path sources = Page.ROOT.resolve(module).resolve("src/main/java");
            try (Stream<Path> files = Files.walk(sources)) {
                files.filter(file -> file.toString().endsWith(".java") && !file.endsWith("package-info.java"))
                        .map(file -> sources.relativize(file.getParent()))
                        .forEach(folder ->
                                packages.add(folder.toString().replace('/', '.').replace('\\', '.') + ".*"));
            }
        }
        packages.addAll(IMPORTS_OF_DL4J);
        StringBuilder imports = new StringBuilder();
        packages.forEach(name -> imports.append("import ").append(name).append(";\n"));
        return imports.toString();
    }
}
