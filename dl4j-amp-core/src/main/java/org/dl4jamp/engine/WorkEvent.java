package org.dl4jamp.engine;

import jdk.jfr.Category;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/**
 * The time that a part of a training step takes, for Java Flight Recorder: {@code jcmd PID JFR.start} shows where a
 * step's time goes. While nothing records, it costs next to nothing. On a GPU work goes on after Java has launched it.
 * There an event measures the launch, and whatever waits for a result is charged with the work before it.
 *
 * <pre>{@code
 * WorkEvent event = WorkEvent.begin(WorkEvent.PRIMITIVE, "conv_1: convolution ...");
 * ...
 * event.commit();
 * }</pre>
 */
@Name(WorkEvent.NAME)
@Label("Work of a training step")
@Category("dl4j-amp")
@StackTrace(false)
public final class WorkEvent extends Event {
    /** The event's name in recordings. */
    public static final String NAME = "org.dl4jamp.Work";

    /** A layer's arithmetic. */
    public static final String PRIMITIVE = "primitive";

    /** A change of type or of order in memory. */
    public static final String COPY = "copy";

    /** The update of the parameters. */
    public static final String UPDATER = "updater";

    /** The look for infinities and NaN. */
    public static final String CHECK = "check";

    @Label("Kind")
    final String kind;

    @Label("What")
    final String what;

    private WorkEvent(String kind, String what) {
        this.kind = kind;
        this.what = what;
    }

    /**
     * Begins to measure. The kind is one of the constants of this class, or another word; {@code what} tells the event
     * from others of its kind.
     */
    public static WorkEvent begin(String kind, String what) {
        WorkEvent event = new WorkEvent(kind, what);
        event.begin();
        return event;
    }
}
