package org.dl4jamp.ui;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.deeplearning4j.core.storage.StatsStorageRouter;
import org.deeplearning4j.core.storage.listener.RoutingIterationListener;
import org.deeplearning4j.core.util.UIDProvider;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.dl4jamp.precision.AmpException;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Reports a training in mixed precision to the tab "Mixed precision" of DL4J's training UI.
 *
 * <pre>
 * StatsStorage storage = new InMemoryStatsStorage();
 * AmpUi ui = AmpUi.start().attach(storage);
 * StatsListener stats = new StatsListener(storage, 10);                 // for DL4J's own tabs
 * net.setListeners(new AmpListener(), stats, MixedPrecisionStatsListener.beside(stats, 10));
 * </pre>
 *
 * <p>Reports each iteration whose number the interval divides, the first one, and each step that is skipped. An
 * iteration that is reported takes longer: the numbers between its layers are looked at. The others cost nothing.
 *
 * <p>Where the reports go is a storage in memory, a file, or a server on another machine, as with DL4J's StatsListener.
 * Training never stops because of a report: one that fails is logged at WARN, once, and none follows.
 *
 * <p>Give each network one of its own. {@code ParallelWrapper} makes a copy for each replica, and Spark for each task;
 * all copies report as workers of one session. Serializable, if its router is or if it has none.
 */
public final class MixedPrecisionStatsListener extends BaseTrainingListener implements RoutingIterationListener {
    private static final long serialVersionUID = 1L;

    /** DL4J's storages in files write session and worker between this. */
    private static final String SEPARATOR = "@@@";

    private final int interval;
    private String session;
    private String worker;
    private transient StatsStorageRouter router;
    private transient SkipWatch skips;
    private transient Reports reports;

    /** As the other constructor, for a new session. The worker is this thread of this JVM. */
    public MixedPrecisionStatsListener(StatsStorageRouter router, int interval) {
        this(
                router,
                interval,
                UUID.randomUUID().toString(),
                UIDProvider.getJVMUID() + "_" + Thread.currentThread().getId());
    }

    /**
     * Makes a listener.
     *
     * @param router where reports go; null for {@code setListeners(router, listeners)} of ParallelWrapper or Spark
     * @param interval number of iterations from one report to the next, at least 1
     * @param session names the training
     * @param worker names this network among those of the training
     * @throws AmpException if the interval is less than 1, or a name is null, empty or has {@code @@@} in it
     */
    public MixedPrecisionStatsListener(StatsStorageRouter router, int interval, String session, String worker) {
        this(router, interval, session, worker, new SkipWatch());
    }

    private MixedPrecisionStatsListener(
            StatsStorageRouter router, int interval, String session, String worker, SkipWatch skips) {
        if (interval < 1) {
            throw new AmpException("interval(" + interval + "): the number of iterations between two reports has to be"
                    + " at least 1, such as 10");
        }
        this.router = router;
        this.interval = interval;
        this.session = requireName("session", session);
        this.worker = requireName("worker", worker);
        this.skips = skips;
        this.reports = new Reports(this);
    }

    private static String requireName(String argument, String name) {
        if (name == null || name.isEmpty() || name.contains(SEPARATOR)) {
            throw new AmpException(argument + ": \"" + name + "\"; give a text that isn't empty and has no " + SEPARATOR
                    + " in it, such as \"" + argument + "-1\"");
        }
        return name;
    }

    /**
     * Returns a listener that reports to where another one does, such as DL4J's StatsListener, as the same worker of
     * the same session. So both show the same training.
     */
    public static MixedPrecisionStatsListener beside(RoutingIterationListener other, int interval) {
        AmpException.ifNull(other, "other", "a listener such as DL4J's StatsListener");
        return new MixedPrecisionStatsListener(
                other.getStorageRouter(), interval, other.getSessionID(), other.getWorkerID());
    }

    /** Returns the number of iterations from one report to the next. */
    public int interval() {
        return interval;
    }

    @Override
    public void onEpochStart(Model model) {
        prepare(model);
    }

    @Override
    public void onForwardPass(Model model, List<INDArray> activations) {
        prepare(model);
    }

    @Override
    public void onForwardPass(Model model, Map<String, INDArray> activations) {
        prepare(model);
    }

    /**
     * Looks at the layers of an iteration that will be reported. {@code fit(DataSet)} calls it after a forward pass.
     */
    private void prepare(Model model) {
        if (isNetwork(model)) {
            reports.begin(model);
        }
    }

    /** Called between a backward pass and its update. */
    @Override
    public void onGradientCalculation(Model model) {
        if (isNetwork(model)) {
            skips.watch(model);
        }
    }

    @Override
    public void iterationDone(Model model, int iteration, int epoch) {
        if (isNetwork(model)) {
            reports.iterationDone(model, iteration, epoch);
        }
    }

    Reports reports() {
        return reports;
    }

    SkipWatch skips() {
        return skips;
    }

    /** Returns whether a model is a whole network. DL4J notifies listeners of each layer that it pretrains, too. */
    private static boolean isNetwork(Model model) {
        return model instanceof MultiLayerNetwork || model instanceof ComputationGraph;
    }

    @Override
    public void setStorageRouter(StatsStorageRouter router) {
        this.router = router;
    }

    @Override
    public StatsStorageRouter getStorageRouter() {
        return router;
    }

    @Override
    public void setWorkerID(String worker) {
        this.worker = requireName("worker", worker);
    }

    @Override
    public String getWorkerID() {
        return worker;
    }

    @Override
    public void setSessionID(String session) {
        this.session = requireName("session", session);
    }

    @Override
    public String getSessionID() {
        return session;
    }

    /** Returns a listener for another network of the same training, such as a replica. */
    @Override
    @SuppressWarnings("MethodDoesntCallSuperMethod")
    public MixedPrecisionStatsListener clone() {
        return new MixedPrecisionStatsListener(router, interval, session, worker, skips);
    }

    private void writeObject(ObjectOutputStream out) throws IOException {
        if (router != null && !(router instanceof Serializable)) {
            throw new AmpException("router: " + router + " can't be sent to another JVM; make the listener with null in"
                    + " its place, and give the router to setListeners(router, listeners)");
        }
        out.defaultWriteObject();
        out.writeObject(router);
    }

    private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
        in.defaultReadObject();
        router = (StatsStorageRouter) in.readObject();
        skips = new SkipWatch();
        reports = new Reports(this);
    }

    @Override
    public String toString() {
        return "MixedPrecisionStatsListener of session " + session + ", worker " + worker;
    }
}
