package org.dl4jamp.ui.server;

import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.deeplearning4j.core.storage.StatsStorage;
import org.deeplearning4j.core.storage.StatsStorageEvent;
import org.deeplearning4j.ui.api.HttpMethod;
import org.deeplearning4j.ui.api.Route;
import org.deeplearning4j.ui.api.UIModule;
import org.deeplearning4j.ui.i18n.I18NResource;

/**
 * The tab "Mixed precision" of DL4J's training UI. DL4J's server finds it by {@code ServiceLoader}, and makes it a
 * second time for its texts. The page's files are in {@code deeplearning4jUiAssets}, which the server serves from any
 * jar.
 *
 * <p>It reads the storages when a page asks, and needs no events. DL4J ends all events for all tabs when a module
 * throws an exception at one.
 */
public final class MixedPrecisionModule implements UIModule {
    /** The path of the tab. */
    public static final String PATH = "/mixedprecision";

    private static final String PAGE = "deeplearning4jUiAssets/mixedprecision/mixedprecision.html";

    /** The page loads nothing from other hosts. */
    private static final String POLICY = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'";

    private static final List<String> LANGUAGES = List.of("de", "en", "ja", "ko", "ru", "zh");

    private final Sessions sessions = new Sessions();

    /** For ServiceLoader. */
    public MixedPrecisionModule() {}

    @Override
    public List<String> getCallbackTypeIDs() {
        return List.of();
    }

    @Override
    public void reportStorageEvents(Collection<StatsStorageEvent> events) {}

    @Override
    public void onAttach(StatsStorage storage) {
        sessions.add(storage);
    }

    @Override
    public void onDetach(StatsStorage storage) {
        sessions.remove(storage);
    }

    @Override
    public List<Route> getRoutes() {
        return List.of(
                get(PATH, (names, context) -> context.response()
                        .putHeader("content-security-policy", POLICY)
                        .putHeader("cache-control", "no-cache")
                        .sendFile(PAGE)),
                get(PATH + "/sessions", (names, context) -> answer(context, sessions::list)),
                get(PATH + "/updates", (names, context) -> answer(context, updates(context))),
                // The link in DL4J's navigation leads here, with one session and with several.
                get("/train" + PATH, (names, context) -> redirect(context, PATH)),
                get(
                        "/train/:sessionId" + PATH,
                        (names, context) -> redirect(context, PATH + "?session=" + encoded(names.get(0)))));
    }

    private static Route get(String path, BiConsumer<List<String>, RoutingContext> handler) {
        return new Route(path, HttpMethod.GET, handler);
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    private static void redirect(RoutingContext context, String location) {
        context.response().setStatusCode(302).putHeader("location", location).end();
    }

    private Supplier<JsonObject> updates(RoutingContext context) {
        String session = parameter(context, "session");
        String worker = parameter(context, "worker");
        boolean layers = parameter(context, "layers").equals("true");
        String since = parameter(context, "since");
        long time = since.matches("\\d{1,18}") ? Long.parseLong(since) : 0;
        return () -> sessions.updates(session, worker, time, layers);
    }

    private static String parameter(RoutingContext context, String name) {
        String value = context.request().getParam(name);
        return value == null ? "" : value;
    }

    /** Answers without holding up the event loop, which all pages share: storages in files are read from disk. */
    private static void answer(RoutingContext context, Supplier<JsonObject> json) {
        context.vertx().<JsonObject>executeBlocking(promise -> promise.complete(json.get()), false, result -> {
            if (result.failed()) {
                context.fail(result.cause());
            } else {
                context.response()
                        .putHeader("content-type", "application/json")
                        .putHeader("cache-control", "no-store")
                        .end(result.result().encode());
            }
        });
    }

    @Override
    public List<I18NResource> getInternationalizationResources() {
        Stream<I18NResource> texts = LANGUAGES.stream().map(NavigationText::new);
        return texts.toList();
    }
}
