package org.dl4jamp.ui.server;

import io.vertx.core.json.DecodeException;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.handler.BodyHandler;
import java.io.File;
import java.net.URL;
import java.util.Optional;
import java.util.Set;
import org.deeplearning4j.ui.VertxUIServer;
import org.dl4jamp.ui.record.StoredRecord;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Routes before those of DL4J's UI server. A file that isn't there is answered by 404: DL4J never ends that request.
 * Reports from other machines are let through if they are plain data: others are read by Java's deserialization, which
 * can be made to run code.
 */
final class SafeRoutes {
    private static final Logger LOG = LoggerFactory.getLogger(SafeRoutes.class);

    private static final int BEFORE_ALL = -2;
    private static final long LARGEST_REPORT = 64 << 20;
    private static final String ASSETS = "/assets/";

    /** The classes of StatsListener and of this module. */
    private static final Set<String> PLAIN = Set.of(
            StoredRecord.class.getName(),
            "org.deeplearning4j.ui.model.stats.impl.SbeStatsReport",
            "org.deeplearning4j.ui.model.stats.impl.SbeStatsInitializationReport",
            "org.deeplearning4j.ui.model.storage.impl.SbeStorageMetaData");

    private SafeRoutes() {}

    static void addTo(Router router) {
        router.get(ASSETS + "*").order(BEFORE_ALL).handler(SafeRoutes::requireAsset);
        router.post("/remoteReceive")
                .order(BEFORE_ALL)
                .handler(BodyHandler.create(false).setBodyLimit(LARGEST_REPORT));
        router.post("/remoteReceive").order(BEFORE_ALL + 1).handler(SafeRoutes::requirePlainData);
    }

    private static void requireAsset(RoutingContext context) {
        String path = context.request().path();
        int webjars = path.indexOf("webjars");
        String resource = webjars >= 0
                ? "META-INF/resources/" + path.substring(webjars)
                : VertxUIServer.ASSETS_ROOT_DIRECTORY
                        + path.substring(Math.min(path.length(), ASSETS.length()))
                                .replaceFirst("^/", "");
        if (resource.contains("..") || resource.contains("%") || !isFile(resource)) {
            context.response().setStatusCode(404).end("There is no " + path);
        } else {
            context.next();
        }
    }

    /** Returns whether there is such a file, in a jar or a folder of the class path. A folder isn't one. */
    private static boolean isFile(String resource) {
        ClassLoader loader = SafeRoutes.class.getClassLoader();
        URL found = loader.getResource(resource);
        if (found == null || resource.endsWith("/")) {
            return false;
        }
        return found.getProtocol().equals("file")
                ? new File(found.getPath()).isFile()
                : loader.getResource(resource + "/") == null;
    }

    private static void requirePlainData(RoutingContext context) {
        Optional<String> type = classOf(context);
        if (type.filter(PLAIN::contains).isPresent()) {
            context.next();
            return;
        }
        String sent = type.orElse("no class of a report");
        LOG.warn(
                "A report from {} was refused: {}. Reports of StatsListener and MixedPrecisionStatsListener are taken",
                context.request().remoteAddress(),
                sent);
        context.response()
                .setStatusCode(403)
                .end("refused: reports of StatsListener and MixedPrecisionStatsListener are taken, and this is "
                        + sent);
    }

    private static Optional<String> classOf(RoutingContext context) {
        try {
            return Optional.ofNullable(context.getBodyAsJson()).map(json -> json.getString("class"));
        } catch (DecodeException | ClassCastException e) {
            return Optional.empty();
        }
    }
}
