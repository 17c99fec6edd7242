package org.dl4jamp.onednn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;
import java.util.stream.Collectors;
import javax.xml.parsers.DocumentBuilderFactory;
import org.bytedeco.javacpp.Loader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;

/** dl4j-amp-bom, which has no parent to take its versions from, against what this module is built and tested with. */
class BomTest {
    private static final Path BOM = Path.of("..", "dl4j-amp-bom", "pom.xml");

    private record Artifact(String group, String name, String classifier, String version) {}

    @ParameterizedTest
    @ValueSource(strings = {"javacpp", "dnnl", "opencl"})
    void nativesAreOfTheReleaseThatTheEngineIsTestedWith(String name) throws Exception {
        String tested = released(name);
        List<Artifact> managed = managed().stream()
                .filter(artifact ->
                        artifact.name().equals(name) || artifact.name().equals(name + "-platform"))
                .toList();
        assertTrue(
                managed.stream().anyMatch(artifact -> artifact.classifier().equals(Loader.getPlatform())),
                () -> "the classifier " + Loader.getPlatform() + " in " + managed);
        managed.forEach(artifact -> assertEquals(tested, artifact.version(), artifact::toString));
    }

    @Test
    void javaCppWarnsOfNothingThatIsManaged() throws Exception {
        String javaCpp = released("javacpp");
        for (Artifact artifact : managed()) {
            if (artifact.group().equals("org.bytedeco")) {
                assertTrue(("-" + artifact.version()).endsWith("-" + javaCpp), artifact::toString);
            }
        }
    }

    @Test
    void theNativesThatThisModuleAsksForAreManagedForEachClassifier() throws Exception {
        List<Artifact> managed = managed();
        for (Artifact artifact : artifacts(Path.of("pom.xml"), "/project/dependencies")) {
            if (artifact.group().equals("org.bytedeco")) {
                assertTrue(
                        managed.stream()
                                .anyMatch(other -> other.name().equals(artifact.name())
                                        && other.classifier().equals(artifact.classifier())),
                        artifact::toString);
            }
        }
    }

    @Test
    void ourLibrariesAreManagedAtTheVersionOfThisBuild() throws Exception {
        Document root = document(Path.of("..", "pom.xml"));
        String version = text(root.getDocumentElement(), "version");
        TreeSet<String> libraries = new TreeSet<>();
        NodeList modules = root.getElementsByTagName("module");
        for (int i = 0; i < modules.getLength(); i++) {
            libraries.add(modules.item(i).getTextContent());
        }
        // The BOM itself, and what is a program and no library.
        libraries.removeIf(name -> name.matches("dl4j-amp-(bom|examples.*|benchmarks.*)"));

        List<Artifact> ours = managed().stream()
                .filter(artifact -> artifact.group().equals("org.dl4jamp"))
                .toList();
        assertEquals(libraries, ours.stream().map(Artifact::name).collect(Collectors.toCollection(TreeSet::new)));
        ours.forEach(artifact -> assertEquals(version, artifact.version(), artifact::toString));
    }

    private static String released(String name) throws IOException {
        Properties properties = new Properties();
        try (InputStream in = BomTest.class
                .getClassLoader()
                .getResourceAsStream("META-INF/maven/org.bytedeco/" + name + "/pom.properties")) {
            properties.load(in);
        }
        return properties.getProperty("version");
    }

    private static List<Artifact> managed() throws Exception {
        return artifacts(BOM, "/project/dependencyManagement/dependencies");
    }

    /** Returns the dependencies of a list, but for those of tests. */
    private static List<Artifact> artifacts(Path pom, String list) throws Exception {
        Document document = document(pom);
        List<Artifact> artifacts = new ArrayList<>();
        NodeList dependencies = document.getElementsByTagName("dependency");
        for (int i = 0; i < dependencies.getLength(); i++) {
            Element dependency = (Element) dependencies.item(i);
            if (path(dependency.getParentNode()).equals(list)
                    && !text(dependency, "scope").equals("test")) {
                artifacts.add(new Artifact(
                        text(dependency, "groupId"),
                        text(dependency, "artifactId"),
                        text(dependency, "classifier"),
                        resolved(document, text(dependency, "version"))));
            }
        }
        return artifacts;
    }

    private static String path(Node node) {
        return node instanceof Document ? "" : path(node.getParentNode()) + "/" + node.getNodeName();
    }

    private static String resolved(Document pom, String text) {
        String version = text.replace("${project.version}", text(pom.getDocumentElement(), "version"));
        // From the last to the first: a property is made of those before it.
        NodeList properties = pom.getElementsByTagName("*");
        for (int i = properties.getLength() - 1; i >= 0; i--) {
            Node property = properties.item(i);
            if (property.getParentNode().getNodeName().equals("properties")) {
                version = version.replace("${" + property.getNodeName() + "}", property.getTextContent());
            }
        }
        return version;
    }

    private static String text(Element parent, String child) {
        for (Node node = parent.getFirstChild(); node != null; node = node.getNextSibling()) {
            if (node.getNodeName().equals(child)) {
                return node.getTextContent();
            }
        }
        return "";
    }

    private static Document document(Path pom) throws Exception {
        return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(pom.toFile());
    }
}
