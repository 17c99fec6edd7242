package org.dl4jamp.ui.record;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import org.dl4jamp.listeners.SkipReport;
import org.dl4jamp.scale.Skip;

/**
 * A step that was skipped, and where it went wrong.
 *
 * @param report the findings
 */
public record SkipContent(SkipReport report) implements Content {
    @Override
    public Kind kind() {
        return Kind.SKIP;
    }

    @Override
    public void write(DataOutputStream out) throws IOException {
        out.writeInt(report.iteration());
        Values.writeText(out, report.skip().cause().name());
        Values.writeText(out, report.skip().what());
        Values.writeOptional(out, report.skip().first(), Values::writeText);
        out.writeDouble(report.lossScale());
        Values.writeOptional(out, report.origin(), SkipContent::writeRange);
        Values.writeList(out, report.before(), SkipContent::writeRange);
        Values.writeList(out, report.batch(), SkipContent::writeRange);
    }

    private static void writeRange(DataOutputStream out, SkipReport.Range range) throws IOException {
        Values.writeText(out, range.layer());
        Values.writeText(out, range.array());
        out.writeDouble(range.largest());
        out.writeLong(range.nonFinite());
        out.writeLong(range.length());
    }

    static SkipContent read(DataInputStream in) throws IOException {
        int iteration = in.readInt();
        Skip skip = new Skip(
                Skip.Cause.valueOf(Values.readText(in)),
                Values.readText(in),
                Values.readOptional(in, Values::readText));
        return new SkipContent(new SkipReport(
                iteration,
                skip,
                in.readDouble(),
                Values.readOptional(in, SkipContent::readRange),
                Values.readList(in, SkipContent::readRange),
                Values.readList(in, SkipContent::readRange)));
    }

    private static SkipReport.Range readRange(DataInputStream in) throws IOException {
        return new SkipReport.Range(
                Values.readText(in), Values.readText(in), in.readDouble(), in.readLong(), in.readLong());
    }
}
