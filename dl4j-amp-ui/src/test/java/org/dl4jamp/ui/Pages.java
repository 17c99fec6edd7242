package org.dl4jamp.ui;

import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;

/** Requests to a server of this machine. Each has to be answered within ten seconds. */
final class Pages {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    private Pages() {}

    private static HttpRequest.Builder request(int port, String path) {
        return HttpRequest.newBuilder(URI.create("http://localhost:" + port + path))
                .timeout(Duration.ofSeconds(60));
    }

    static HttpResponse<String> get(int port, String path) {
        return send(request(port, path).build());
    }

    static HttpResponse<String> post(int port, String path, String body) {
        return send(request(port, path)
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build());
    }

    private static HttpResponse<String> send(HttpRequest request) {
        try {
            return CLIENT.send(request, BodyHandlers.ofString());
        } catch (Exception e) {
            throw new AssertionError(request.toString(), e);
        }
    }

    static JsonObject json(int port, String path) {
        return new JsonObject(get(port, path).body());
    }

    static List<String> sessions(int port) {
        return json(port, "/mixedprecision/sessions").getJsonArray("sessions").stream()
                .map(session -> ((JsonObject) session).getString("id"))
                .toList();
    }

    /** Returns the workers of a session, in the order of their names. */
    static List<String> workers(int port, String session) {
        return json(port, "/mixedprecision/sessions").getJsonArray("sessions").stream()
                .map(JsonObject.class::cast)
                .filter(found -> found.getString("id").equals(session))
                .flatMap(found -> found.getJsonArray("workers").stream())
                .map(worker -> ((JsonObject) worker).getString("id"))
                .toList();
    }

    static JsonObject updates(int port, String session, String worker, long since) {
        return json(
                port,
                "/mixedprecision/updates?session=" + session + "&worker=" + worker + "&since=" + since
                        + "&layers=true");
    }
}
