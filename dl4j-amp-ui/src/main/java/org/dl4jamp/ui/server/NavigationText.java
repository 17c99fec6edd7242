package org.dl4jamp.ui.server;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;
import org.deeplearning4j.ui.i18n.I18NResource;

/**
 * DL4J's text of the last entry of its navigation, in one language, with an entry for this tab behind it. DL4J's
 * templates insert texts as they are. Of two texts for one key the later counts: META-INF/services names DL4J's module
 * before this one.
 */
final class NavigationText extends I18NResource {
    private static final String KEY = "train.nav.system=";
    private static final String ENTRY = "</a></li><li class=\"nav-item\"><a class=\"nav-link\" href=\"mixedprecision\">"
            + "<i class=\"nav-icon cui-layers\"></i>Mixed precision";

    NavigationText(String language) {
        super("dl4j_i18n/train." + language);
    }

    @Override
    public InputStream getInputStream() throws IOException {
        try (InputStream texts = super.getInputStream()) {
            String linked = new String(texts.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> line.startsWith(KEY))
                    .map(line -> line + ENTRY)
                    .collect(Collectors.joining("\n"));
            return new ByteArrayInputStream(linked.getBytes(StandardCharsets.UTF_8));
        }
    }
}
