package org.dl4jamp.inspect.compare.report;

import java.util.List;
import java.util.Optional;
import org.dl4jamp.inspect.compare.Compared;
import org.dl4jamp.inspect.compare.Comparison;
import org.dl4jamp.inspect.compare.LayerComparison;
import org.dl4jamp.inspect.compare.ParameterComparison;
import org.dl4jamp.inspect.compare.Verdict;

/** A comparison as one HTML page that needs no network, with a histogram of exponents for each layer. */
public final class ComparisonHtml {
    private static final String HEAD = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            """;

    private static final String STYLE = """
            :root { color-scheme: light dark; }
            body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 0 auto; padding: 1rem; }
            body { overflow-wrap: anywhere; }
            h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
            .verdict { border-left: .4rem solid #c62828; padding: .1rem 1rem; background: #8881; }
            .verdict.good { border-color: #2e7d32; } .verdict.neutral { border-color: #f9a825; }
            .scroll { overflow-x: auto; }
            table { border-collapse: collapse; font-size: .85rem; }
            th, td { padding: .2rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #8884; }
            th:first-child, td:first-child { text-align: left; }
            details { border-bottom: 1px solid #8884; padding: .5rem 0; }
            summary { cursor: pointer; }
            .charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: 1rem; }
            figure { margin: .5rem 0; } figcaption { font-size: .85rem; }
            svg { width: 100%; height: auto; border: 1px solid #8884; }
            svg text { font-size: 9px; text-anchor: middle; fill: currentColor; } .power { font-size: 7px; }
            .bar { fill: #1976d2; } .line { fill: none; stroke: #ef6c00; } .beyond { fill: #8884; }
            .weakest { font-weight: bold; }
            """;

    private ComparisonHtml() {}

    /**
     * Returns the page.
     *
     * @param model the model's file or another name
     * @param data the batches, in words
     */
    public static String of(String model, String data, Comparison comparison) {
        Verdict verdict = comparison.verdict();
        StringBuilder page = new StringBuilder(HEAD);
        page.append(Html.element("title", "dl4j-amp compare: " + model))
                .append("<style>\n")
                .append(STYLE)
                .append("</style>\n</head>\n<body>\n")
                .append(Html.element("h1", "FP32 and mixed precision: " + model));
        page.append("<div class=\"verdict " + style(verdict.kind()) + "\">\n");
        verdict.sentences().forEach(sentence -> page.append(Html.element("p", sentence)));
        page.append("</div>\n<ul>\n");
        Summary.facts(model, data, comparison).forEach(fact -> page.append(Html.element("li", fact)));
        page.append("</ul>\n");
        List<String> trials = Summary.trials(comparison);
        if (!trials.isEmpty()) {
            page.append("<h2>Policies that were run with these batches</h2>\n<ul>\n");
            trials.forEach(trial -> page.append(Html.element("li", trial)));
            page.append("</ul>\n");
        }
        layers(page, comparison);
        charts(page, comparison);
        return page.append("</body>\n</html>\n").toString();
    }

    private static String style(Verdict.Kind kind) {
        return switch (kind) {
            case HEALTHY -> "good";
            case ILL_CONDITIONED, NO_HALF -> "neutral";
            case MENDED, HELPED, NOT_MENDED, NOT_FINITE_IN_FP32 -> "bad";
        };
    }

    private static void layers(StringBuilder page, Comparison comparison) {
        page.append("<h2>Layers and parameters</h2>\n")
                .append(Html.element(
                        "p",
                        "Error: the norm of the difference from FP32, divided by FP32's. Rounded: with rounded weights"
                                + " alone, in FP32. Underflow: zero here, of the gradients that aren't zero in FP32."
                                + " Near overflow: within a factor of two of it, of activations or of gradients between"
                                + " layers with the loss scale."))
                .append("<div class=\"scroll\"><table>\n<tr>");
        List.of(
                        "layer",
                        "precision",
                        "activations: error",
                        "rounded",
                        "cosine",
                        "gradients: error",
                        "rounded",
                        "cosine",
                        "underflow",
                        "near overflow")
                .forEach(title -> page.append("<th>" + title + "</th>"));
        page.append("</tr>\n");
        for (LayerComparison layer : comparison.layers()) {
            boolean weakest = comparison.verdict().weakest().equals(Optional.of(layer.layer()));
            page.append("<tr" + (weakest ? " class=\"weakest\"" : "") + ">");
            cells(
                    page,
                    layer.layer() + " (" + layer.className() + ")",
                    layer.precision(),
                    layer.computedWith().map(then -> "with " + then).orElseGet(() -> Cells.mixed(layer.activations())),
                    Cells.rounded(layer.activations()),
                    Cells.cosine(layer.activations()));
            gradients(page, layer.gradients());
            cells(page, Cells.share(layer.nearOverflow()));
            page.append("</tr>\n");
            for (ParameterComparison parameter : layer.parameters()) {
                page.append("<tr>");
                cells(page, "\u2003" + parameter.parameter(), "", "", "", "");
                gradients(page, Optional.of(parameter.gradients()));
                cells(page, "");
                page.append("</tr>\n");
            }
        }
        page.append("</table></div>\n");
    }

    private static void gradients(StringBuilder page, Optional<Compared> gradients) {
        cells(
                page,
                Cells.mixed(gradients),
                Cells.rounded(gradients),
                Cells.cosine(gradients),
                gradients.map(of -> Cells.share(of.mixed().vanished())).orElse(""));
    }

    private static void cells(StringBuilder page, String... cells) {
        for (String cell : cells) {
            page.append("<td>" + Html.escape(cell) + "</td>");
        }
    }

    private static void charts(StringBuilder page, Comparison comparison) {
        page.append("<h2>Exponents</h2>\n")
                .append(Html.element(
                        "p",
                        "How many numbers there are of each power of two. Blue: mixed precision. Orange outline: FP32."
                                + " Grey: out of the normal numbers of HALF."));
        for (LayerComparison layer : comparison.layers()) {
            boolean weakest = comparison.verdict().weakest().equals(Optional.of(layer.layer()));
            page.append("<details" + (weakest ? " open=\"open\"" : "") + ">")
                    .append(Html.element("summary", layer.layer() + " (" + layer.className() + ")"))
                    .append("<div class=\"charts\">\n");
            layer.activations().ifPresent(of -> figure(page, "Activations", of));
            layer.inputGradients().ifPresent(range -> page.append("<figure>")
                    .append(ExponentChart.svg("Gradients of the input", Optional.empty(), range))
                    .append(Html.element(
                            "figcaption", "Gradients of the input, with the loss scale (" + range.type() + ")"))
                    .append("</figure>\n"));
            layer.parameters()
                    .forEach(parameter -> figure(page, "Gradients of " + parameter.parameter(), parameter.gradients()));
            page.append("</div></details>\n");
        }
    }

    private static void figure(StringBuilder page, String title, Compared numbers) {
        page.append("<figure>")
                .append(ExponentChart.svg(title, Optional.of(numbers.inFp32()), numbers.inMixed()))
                .append(Html.element(
                        "figcaption",
                        title + " (" + numbers.inMixed().type() + "), zero: "
                                + Cells.share(numbers.inMixed().zero()) + ", in FP32 "
                                + Cells.share(numbers.inFp32().zero())))
                .append("</figure>\n");
    }
}
