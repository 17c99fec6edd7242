package org.dl4jamp.ui.record;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import org.dl4jamp.policy.PrecisionPlan;
import org.dl4jamp.precision.LayerKind;
import org.dl4jamp.precision.Precision;

/**
 * The plan of a network in mixed precision, which is the same in all its iterations unless the network heals itself.
 *
 * @param network its class and number of parameters, for people
 * @param engine the name of the engine
 * @param scaler the loss scaler, as code
 * @param layerScales whether layers in HALF have scales of their own
 * @param plan the plan, without its fusions
 */
public record PlanContent(String network, String engine, String scaler, boolean layerScales, PrecisionPlan plan)
        implements Content {
    @Override
    public Kind kind() {
        return Kind.PLAN;
    }

    @Override
    public void write(DataOutputStream out) throws IOException {
        Values.writeText(out, network);
        Values.writeText(out, engine);
        Values.writeText(out, scaler);
        out.writeBoolean(layerScales);
        Values.writeText(out, plan.precision().name());
        Values.writeText(out, plan.note());
        Values.writeList(out, plan.rows(), PlanContent::writeRow);
    }

    private static void writeRow(DataOutputStream out, PrecisionPlan.Row row) throws IOException {
        Values.writeText(out, row.name());
        Values.writeText(out, row.className());
        out.writeBoolean(row.layer());
        Values.writeText(out, row.kind().name());
        Values.writeText(out, row.precision().name());
        Values.writeText(out, row.input().name());
        Values.writeText(out, row.output().name());
        Values.writeText(out, row.engine());
        Values.writeText(out, row.reason());
    }

    static PlanContent read(DataInputStream in) throws IOException {
        return new PlanContent(
                Values.readText(in),
                Values.readText(in),
                Values.readText(in),
                in.readBoolean(),
                new PrecisionPlan(precision(in), Values.readText(in), Values.readList(in, PlanContent::readRow)));
    }

    private static PrecisionPlan.Row readRow(DataInputStream in) throws IOException {
        return new PrecisionPlan.Row(
                Values.readText(in),
                Values.readText(in),
                in.readBoolean(),
                LayerKind.valueOf(Values.readText(in)),
                precision(in),
                precision(in),
                precision(in),
                Values.readText(in),
                Values.readText(in));
    }

    private static Precision precision(DataInputStream in) throws IOException {
        return Precision.valueOf(Values.readText(in));
    }
}
