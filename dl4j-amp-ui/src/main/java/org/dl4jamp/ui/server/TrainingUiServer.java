package org.dl4jamp.ui.server;

import io.vertx.core.AsyncResult;
import io.vertx.core.Context;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.ext.web.Router;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.BindException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.deeplearning4j.ui.VertxUIServer;
import org.deeplearning4j.ui.api.UIServer;
import org.dl4jamp.precision.AmpException;

/**
 * DL4J's UI server on one address of this machine. DL4J's own start listens on all, and nothing sets another. So DL4J's
 * code is given a Vert.x that replaces the address where the server listens, and adds {@link SafeRoutes}.
 */
public final class TrainingUiServer extends VertxUIServer {
    private final String host;
    private final OptionalInt port;

    private TrainingUiServer(String host, OptionalInt port) {
        // DL4J's constructor has made this the instance that UIServer.getInstance() returns.
        this.host = host;
        this.port = port;
    }

    /**
     * Starts it, as the one instance of DL4J's UI in this JVM.
     *
     * @param port 0 for any that is free; empty for DL4J's, 9000 or that of its system property
     * @throws AmpException if there is an instance already, or the address can't be listened on
     */
    public static TrainingUiServer start(String host, OptionalInt port) {
        requireNone();
        Vertx vertx = Vertx.vertx();
        TrainingUiServer server = new TrainingUiServer(host, port);
        CompletableFuture<String> started = new CompletableFuture<>();
        vertx.deployVerticle(server, result -> {
            if (result.failed()) {
                started.completeExceptionally(result.cause());
            } else {
                started.complete(result.result());
            }
        });
        try {
            started.get();
        } catch (ExecutionException e) {
            server.stopAsInstance();
            throw server.refused(e.getCause());
        } catch (InterruptedException e) {
            server.stopAsInstance();
            Thread.currentThread().interrupt();
            throw new AmpException("AmpUi.start: its thread was interrupted; nothing was started", e);
        }
        return server;
    }

    private static void requireNone() {
        UIServer present = VertxUIServer.getInstance();
        if (present != null && !present.isStopped()) {
            throw new AmpException("AmpUi.start: DL4J's training UI runs in this program already, at "
                    + present.getAddress() + ", and has the tab " + MixedPrecisionModule.PATH
                    + "; attach to it, or call UIServer.stopInstance() first");
        }
    }

    /** Stops it, and makes way for another instance. One that failed to start would stay the instance for good. */
    public void stopAsInstance() {
        if (VertxUIServer.getInstance() != this) {
            return;
        }
        try {
            UIServer.stopInstance();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Exception e) {
            throw new AmpException("AmpUi.close: DL4J's training UI can't be stopped: " + e, e);
        }
    }

    private AmpException refused(Throwable failure) {
        Optional<BindException> bind = Optional.empty();
        Throwable cause = failure;
        while (cause.getCause() != null && cause.getCause() != cause) {
            cause = cause.getCause();
            bind = cause instanceof BindException found ? Optional.of(found) : bind;
        }
        String address = port.isPresent()
                ? "host(\"" + host + "\"), port(" + port.getAsInt() + ")"
                : "host(\"" + host + "\"), DL4J's port 9000 or that of -Dorg.deeplearning4j.ui.port";
        boolean inUse = bind.filter(found -> String.valueOf(found.getMessage()).contains("in use"))
                .isPresent();
        return new AmpException(
                "AmpUi.start: " + address + ": "
                        + (inUse
                                ? "the port is in use by another program; choose another, or port(0) for any free one"
                                : "can't be listened on (" + cause + "); give an address of this machine, such as"
                                        + " \"localhost\", and a port that you may open, such as 9000"),
                failure);
    }

    /** Returns the address where it listens, as it was given. */
    public String host() {
        return host;
    }

    @Override
    public void init(Vertx vertx, Context context) {
        super.init(
                intercepted(vertx, (method, arguments) -> {
                    Object result = method.invoke(vertx, arguments);
                    return method.getName().equals("createHttpServer") ? atHost((HttpServer) result) : result;
                }),
                context);
    }

    private HttpServer atHost(HttpServer server) {
        return intercepted(server, (method, arguments) -> {
            if (method.getName().equals("listen")) {
                return listen(server, arguments);
            }
            if (method.getName().equals("requestHandler")
                    && arguments != null
                    && arguments[0] instanceof Router router) {
                SafeRoutes.addTo(router);
            }
            Object result = method.invoke(server, arguments);
            return result == server ? atHost(server) : result;
        });
    }

    @SuppressWarnings("unchecked")
    private HttpServer listen(HttpServer server, Object[] arguments) {
        int dl4js = (Integer) arguments[0];
        return server.listen(port.orElse(dl4js), host, (Handler<AsyncResult<HttpServer>>) arguments[1]);
    }

    /** A call of one of Vert.x's interfaces. */
    private interface Call {
        Object on(Method method, Object[] arguments) throws ReflectiveOperationException;
    }

    @SuppressWarnings("unchecked")
    private static <T> T intercepted(T target, Call call) {
        Set<Class<?>> interfaces = new LinkedHashSet<>();
        for (Class<?> type = target.getClass(); type != null; type = type.getSuperclass()) {
            interfaces.addAll(List.of(type.getInterfaces()));
        }
        return (T) Proxy.newProxyInstance(
                target.getClass().getClassLoader(), interfaces.toArray(Class<?>[]::new), (proxy, method, arguments) -> {
                    try {
                        return call.on(method, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }
}
