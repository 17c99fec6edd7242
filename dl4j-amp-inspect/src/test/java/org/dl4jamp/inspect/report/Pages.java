package org.dl4jamp.inspect.report;

import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import javax.xml.xpath.XPathConstants;
import javax.xml.xpath.XPathExpressionException;
import javax.xml.xpath.XPathFactory;
import org.w3c.dom.Document;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;
import org.xml.sax.SAXException;

/** Reads pages, which are well-formed XML. */
final class Pages {
    private Pages() {}

    static Document read(Path file) throws IOException {
        return parse(Files.readString(file));
    }

    static Document parse(String page) {
        try {
            return DocumentBuilderFactory.newInstance()
                    .newDocumentBuilder()
                    .parse(new InputSource(new StringReader(page)));
        } catch (ParserConfigurationException | SAXException | IOException e) {
            throw new AssertionError("no well-formed page", e);
        }
    }

    /** Returns the texts of the nodes at an XPath, white space at their ends left out. */
    static List<String> texts(Document page, String path) {
        try {
            NodeList nodes =
                    (NodeList) XPathFactory.newInstance().newXPath().evaluate(path, page, XPathConstants.NODESET);
            List<String> texts = new ArrayList<>();
            for (int i = 0; i < nodes.getLength(); i++) {
                texts.add(nodes.item(i).getTextContent().strip());
            }
            return texts;
        } catch (XPathExpressionException e) {
            throw new AssertionError(path, e);
        }
    }

    /** Returns the text of the only node at an XPath. */
    static String text(Document page, String path) {
        List<String> texts = texts(page, path);
        if (texts.size() != 1) {
            throw new AssertionError(path + ": " + texts);
        }
        return texts.get(0);
    }

    /** Returns the figure of a tile of the summary. */
    static String tile(Document page, String id) {
        return text(page, "//div[@id='tile-" + id + "']//b");
    }

    /** Returns the sentences of the summary. */
    static String words(Document page) {
        return text(page, "//p[@class='words']").replaceAll("\\s+", " ");
    }

    /** Returns a number that a page shows. */
    static double number(String shown) {
        return Double.parseDouble(shown.replace(",", ""));
    }

    /** Returns a whole number that a page shows. */
    static long whole(String shown) {
        return Long.parseLong(shown.replace(",", ""));
    }
}
