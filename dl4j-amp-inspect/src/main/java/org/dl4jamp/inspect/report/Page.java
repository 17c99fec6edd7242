package org.dl4jamp.inspect.report;

import com.samskivert.mustache.Mustache;
import com.samskivert.mustache.Template;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.dl4jamp.inspect.report.LayerTimeline.Cell;
import org.dl4jamp.inspect.report.LayerTimeline.Column;
import org.dl4jamp.inspect.report.LayerTimeline.Share;
import org.dl4jamp.inspect.report.Timeline.Bin;

/**
 * The page: the values of the template {@code report.html}, which are texts and drawings. The template escapes every
 * text. The result is HTML and well-formed XML, and refers to nothing outside itself.
 *
 * @param state whether training goes on, and when the page was written
 * @param charts loss and loss scale
 * @param costs time and memory
 * @param scaleNote the reason why there is no chart of the loss scale; empty if there is one
 * @param numbers the figures of the charts, in a few rows
 * @param heat empty if no layer was looked at
 * @param amp empty without mixed precision
 */
record Page(
        String style,
        State state,
        Summary summary,
        List<Chart> charts,
        List<Chart> costs,
        List<String> scaleNote,
        List<NumbersRow> numbers,
        List<Heat> heat,
        List<Amp> amp,
        Environment environment) {
    private static final String STYLE = text("report.css");
    private static final Template TEMPLATE = Mustache.compiler()
            .strictSections(true)
            .emptyStringIsFalse(true)
            .zeroIsFalse(true)
            .withEscaper(Page::escape)
            .withLoader(partial -> new StringReader(text(partial + ".html")))
            .compile(text("report.html"));

    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("d MMMM yyyy, HH:mm:ss z", Locale.ENGLISH);

    /** Rows of the table of figures, at most. */
    private static final int NUMBERS = 40;

    /**
     * The state of the training.
     *
     * @param ended whether the report was closed
     * @param iteration the last one
     */
    record State(boolean ended, String iteration, String begun, String written, String took) {}

    /** A row of the figures of the charts. */
    record NumbersRow(String iterations, String loss, String range, String scale, String skipped, String time) {}

    /** The numbers of the layers over time. */
    record Heat(String looks, HeatMap underflow, HeatMap gradientNear, HeatMap outputNear, LayerTable table) {}

    /**
     * The mixed precision.
     *
     * @param skips empty if no step was skipped
     * @param json the settings, empty if they hold code
     * @param firstSettings the settings of the begin, empty if they are the same
     */
    record Amp(
            List<SkipTable> skips,
            PlanRows plan,
            String settings,
            String scaler,
            List<String> json,
            List<String> firstSettings) {}

    /**
     * Returns the page of a recording that has an iteration.
     *
     * @param ended whether the report was closed
     */
    static String of(Recording recording, boolean ended) {
        Bin total = recording.timeline().total().orElseThrow();
        List<Bin> bins = recording.timeline().bins();
        Page page = new Page(
                STYLE,
                state(recording, total, ended),
                Summary.of(recording),
                charts(bins, total),
                costs(bins, total),
                scaleNote(recording, total).stream().toList(),
                recording.timeline().bins(NUMBERS).stream()
                        .map(bin -> numbers(bin, Summary.isScaled(total)))
                        .toList(),
                heat(recording.layers()).stream().toList(),
                recording.setup().amp().map(amp -> amp(recording, amp)).stream().toList(),
                recording.environment());
        return TEMPLATE.execute(page);
    }

    private static State state(Recording recording, Bin total, boolean ended) {
        Instant now = Instant.now();
        return new State(
                ended,
                Numbers.whole(total.last()),
                time(recording.begin()),
                time(now),
                Numbers.time(Duration.between(recording.begin(), now).toMillis() / 1e3));
    }

    private static String time(Instant instant) {
        return TIME.format(instant.atZone(ZoneId.systemDefault()));
    }

    private static List<Chart> charts(List<Bin> bins, Bin total) {
        List<Chart> charts = new ArrayList<>();
        if (!total.loss().isEmpty()) {
            charts.add(Chart.ofLoss(bins));
        }
        if (Summary.moves(total)) {
            charts.add(Chart.ofScale(bins));
        }
        return charts;
    }

    private static List<Chart> costs(List<Bin> bins, Bin total) {
        return total.seconds().isEmpty()
                ? List.of(Chart.ofMemory(bins))
                : List.of(Chart.ofSeconds(bins), Chart.ofMemory(bins));
    }

    private static Optional<String> scaleNote(Recording recording, Bin total) {
        Optional<Setup.Amp> amp = recording.setup().amp();
        if (amp.isEmpty() || Summary.moves(total)) {
            return Optional.empty();
        }
        if (Summary.isScaled(total)) {
            return Optional.of(
                    "The loss scale was " + Numbers.scale(total.scale().last()) + " all the time.");
        }
        return Optional.of(
                amp.get().config().layerScales()
                        ? "There is no loss scale: each layer in HALF has a scale of its own, where it needs one."
                        : "There is no loss scale: the loss wasn’t scaled.");
    }

    private static NumbersRow numbers(Bin bin, boolean scaled) {
        Range loss = bin.loss();
        return new NumbersRow(
                bin.first() == bin.last()
                        ? Numbers.whole(bin.first())
                        : Numbers.whole(bin.first()) + " to " + Numbers.whole(bin.last()),
                loss.isEmpty() ? "not finite" : Numbers.number(loss.mean()),
                loss.count() < 2 ? "" : Numbers.number(loss.least()) + " to " + Numbers.number(loss.most()),
                !scaled || bin.scale().isEmpty()
                        ? ""
                        : Numbers.scale(bin.scale().last()),
                bin.skipped() == 0 ? "" : Numbers.whole(bin.skipped()),
                bin.seconds().isEmpty() ? "" : Numbers.time(bin.seconds().mean()));
    }

    private static Optional<Heat> heat(LayerTimeline layers) {
        List<Column> columns = layers.columns();
        if (columns.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(new Heat(
                Numbers.counted(columns.stream().mapToLong(Column::looks).sum(), "iteration"),
                HeatMap.of(columns, Cell::underflow, Share::mean),
                HeatMap.of(columns, Cell::gradientNear, share -> (double) share.most()),
                HeatMap.of(columns, Cell::outputNear, share -> (double) share.most()),
                LayerTable.of(layers)));
    }

    private static Amp amp(Recording recording, Setup.Amp amp) {
        return new Amp(
                recording.skips().counts().isEmpty() ? List.of() : List.of(SkipTable.of(recording.skips())),
                PlanRows.of(amp.plan()),
                amp.config().toString(),
                amp.scaler(),
                amp.json().stream().toList(),
                Summary.changed(recording)
                        ? List.of(recording.firstAmp().orElseThrow().config().toString())
                        : List.of());
    }

    /** Escapes a text for elements and attributes. Characters that XML doesn't allow become a replacement character. */
    static String escape(String text) {
        StringBuilder escaped = new StringBuilder(text.length() + 16);
        text.codePoints().forEach(character -> {
            switch (character) {
                case '&' -> escaped.append("&amp;");
                case '<' -> escaped.append("&lt;");
                case '>' -> escaped.append("&gt;");
                case '"' -> escaped.append("&quot;");
                case '\'' -> escaped.append("&#39;");
                default -> escaped.appendCodePoint(isAllowed(character) ? character : 0xFFFD);
            }
        });
        return escaped.toString();
    }

    private static boolean isAllowed(int character) {
        return character == '\n'
                || character == '\t'
                || (character >= 0x20 && character < 0x7F)
                || (character >= 0xA0 && character < 0xD800)
                || (character >= 0xE000 && character < 0xFFFE)
                || character >= 0x10000;
    }

    private static String text(String resource) {
        try (InputStream stream = Page.class.getResourceAsStream(resource)) {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
