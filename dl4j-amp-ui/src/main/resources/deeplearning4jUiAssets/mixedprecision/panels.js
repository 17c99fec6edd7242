// Tiles, tables and the last skipped step.
import {ago, byId, digits, element, percent, scale, whole} from "./format.js";

const CAUSES = {
  OVERFLOW: "Gradients overflowed: the loss scale was too large.",
  LOSS: "The loss wasn't finite. The loss scale isn't the cause, and stays.",
  BATCH: "The features or the labels weren't finite. The loss scale isn't the cause, and stays.",
  UNSCALED: "Gradients weren't finite, in a pass without a loss scale."
};

const CAUSE_WORDS = {OVERFLOW: "overflow", LOSS: "loss", BATCH: "batch", UNSCALED: "gradients"};
const LISTED_SKIPS = 20;

export function isScaled(plan) {
  return !plan.layerScales && !plan.scaler.includes("NoLossScaler");
}

function tile(id, label, value, more, bad) {
  return element("div", {class: "tile" + (bad ? " bad" : ""), id: "tile-" + id},
    element("div", {class: "label"}, label), element("div", {class: "value"}, value), element("div", {class: "more"}, more));
}

/** The figures of the last report. */
export function showTiles(plan, last, skips) {
  const steps = last.taken + last.skipped;
  const share = last.skipped === 0 ? "none so far" : percent(last.skipped / steps) + " of all steps";
  const lastSkip = skips[skips.length - 1];
  byId("tiles").replaceChildren(
    tile("precision", "Precision", plan.precision, "engine " + plan.engine),
    tile("iteration", "Iteration", whole(last.iteration), "epoch " + whole(last.epoch)),
    tile("loss", "Loss", digits(last.loss), "without the loss scale", last.loss === null),
    plan.layerScales
      ? tile("scale", "Loss scale", "of layers", "each has its own")
      : tile("scale", "Loss scale", isScaled(plan) ? scale(last.lossScale) : "none",
        isScaled(plan) ? "= " + (Number.isInteger(last.lossScale) ? whole : digits)(last.lossScale) : "isn't needed"),
    tile("taken", "Steps taken", whole(last.taken), "updates of parameters"),
    tile("skipped", "Steps skipped", whole(last.skipped),
      lastSkip ? share + ", last in iteration " + whole(lastSkip.iteration) : share));
}

function header(...cells) {
  return element("tr", {}, ...cells.map(([text, number]) => element("th", {class: number ? "number" : ""}, text)));
}

/** Workers side by side: [{id, name, colour, chosen, last, time, skips}]. */
export function showWorkers(workers, choose) {
  const table = byId("workers");
  byId("workersCard").hidden = workers.length < 2;
  table.replaceChildren(
    header(["Worker"], ["Iteration", true], ["Loss", true], ["Loss scale", true], ["Taken", true], ["Skipped", true],
      ["Last skip at"], ["Last report"]),
    ...workers.map(worker => row(worker, choose)));
}

function row(worker, choose) {
  const last = worker.last || {};
  const number = text => element("td", {class: "number"}, worker.last ? text(last) : "");
  const skip = worker.skips[worker.skips.length - 1];
  return element("tr", {
    class: "choice" + (worker.chosen ? " chosen" : ""), tabindex: "0", title: worker.id, "data-worker": worker.id,
    onclick: () => choose(worker.id), onkeydown: event => event.key === "Enter" && choose(worker.id)
  },
  element("td", {class: "name"}, element("span", {class: "dot", colour: worker.colour}), worker.name),
  number(step => whole(step.iteration)), number(step => digits(step.loss)), number(step => scale(step.lossScale)),
  number(step => whole(step.taken)), number(step => whole(step.skipped)),
  element("td", {}, skip && skip.origin ? skip.origin.layer : ""),
  element("td", {}, worker.time ? ago(worker.time) : ""));
}

function badge(text, kind) {
  return element("span", {class: "badge " + kind}, text);
}

/** The precision of each layer. */
export function showPlan(plan) {
  const half = plan.rows.filter(r => r.half).length;
  byId("planNote").textContent = plan.network + ". " + half + " of " + plan.rows.length + " layers compute in half precision"
    + (plan.note ? " (" + plan.note + ")." : ".");
  byId("plan").replaceChildren(
    header(["Layer"], ["Class"], ["Precision"], ["Output"], ["Engine"], ["Reason"]),
    ...plan.rows.map(r => element("tr", {},
      element("td", {class: "name"}, r.name), element("td", {}, r.className),
      element("td", {}, badge(r.precision, r.half ? "half" : "")),
      element("td", {}, badge(r.output, r.output === "FLOAT" ? "" : "half")),
      element("td", {}, r.engine), element("td", {}, r.reason))));
}

/** The scale that each layer chose for itself, and how it went. */
export function showScales(plan, steps) {
  const box = byId("scales");
  const looked = steps.filter(step => step.scales);
  const rows = plan.rows.map((r, i) => ({name: r.name, scales: looked.map(step => step.scales[i])}))
    .filter(r => r.scales.some(s => s !== null && s !== undefined));
  if (rows.length === 0) {
    box.replaceChildren(element("p", {class: "plain"}, plan.layerScales
      ? "No layer has a scale of its own so far. Layers whose gradients are computed in FP32, such as those of the engine nd4j on a CPU, need none."
      : "Layers have no scales of their own here: " + (isScaled(plan) ? "the loss scale serves all of them." : "none is needed.")
        + " AmpConfig.layerScales(true) gives each layer in HALF its own."));
    return;
  }
  box.replaceChildren(
    element("p", {class: "note"}, "Each layer multiplies the gradients that it is given by a power of two of its own, chosen in each pass."),
    element("div", {class: "scroll short"}, element("table", {},
      header(["Layer"], ["Now", true], ["Lowest", true], ["Highest", true], ["Over time"]),
      ...rows.map(r => {
        const known = r.scales.filter(s => s !== null && s !== undefined);
        return element("tr", {},
          element("td", {class: "name"}, r.name),
          element("td", {class: "number"}, scale(known[known.length - 1])),
          element("td", {class: "number"}, scale(Math.min(...known))),
          element("td", {class: "number"}, scale(Math.max(...known))),
          element("td", {class: "spark"}, spark(known.map(Math.log2))));
      }))));
}

function spark(values) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 100 20");
  svg.setAttribute("preserveAspectRatio", "none");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  const at = (value, i) => (values.length === 1 ? 50 : 100 * i / (values.length - 1)).toFixed(1)
    + "," + (high === low ? 10 : 18 - 16 * (value - low) / (high - low)).toFixed(1);
  line.setAttribute("points", values.map(at).join(" "));
  svg.append(line);
  return svg;
}

function rangeText(range) {
  return range.nonFinite === 0
    ? range.array + " of " + range.layer + ": up to " + digits(range.largest)
    : range.array + " of " + range.layer + ": " + whole(range.nonFinite) + " of " + whole(range.length)
      + " numbers aren't finite, the others up to " + digits(range.largest);
}

function rangeTable(ranges) {
  return element("table", {}, header(["Layer"], ["Array"], ["Largest", true], ["Not finite", true]),
    ...ranges.map(range => element("tr", {},
      element("td", {class: "name"}, range.layer), element("td", {}, range.array),
      element("td", {class: "number"}, digits(range.largest)), element("td", {class: "number"}, whole(range.nonFinite)))));
}

/** Where the last skipped step went wrong, and a list of the last ones. */
export function showSkips(skips) {
  const box = byId("lastSkip");
  byId("skipsCard").hidden = skips.length === 0;
  if (skips.length === 0) {
    box.replaceChildren(element("p", {class: "plain"}, "No step was skipped."));
    return;
  }
  const skip = skips[skips.length - 1];
  const parts = [
    element("p", {class: "note"}, "In iteration " + whole(skip.iteration) + ", at loss scale " + scale(skip.lossScale) + ". "
      + CAUSES[skip.cause] + " The step changed nothing."),
    element("p", {class: "first"}, skip.origin ? "First: " + rangeText(skip.origin) : skip.what)
  ];
  if (skip.before.length > 0) {
    parts.push(element("h3", {}, "Before it, in the " + (skip.cause === "LOSS" ? "forward" : "backward") + " pass"), rangeTable(skip.before));
  }
  if (skip.batch.length > 0) {
    parts.push(element("h3", {}, "The batch"), rangeTable(skip.batch));
  }
  box.replaceChildren(...parts);
  byId("skips").replaceChildren(
    header(["Iteration", true], ["Loss scale", true], ["Cause"], ["First"]),
    ...skips.slice(-LISTED_SKIPS).reverse().map(s => element("tr", {},
      element("td", {class: "number"}, whole(s.iteration)), element("td", {class: "number"}, scale(s.lossScale)),
      element("td", {}, badge(CAUSE_WORDS[s.cause], "bad")),
      element("td", {}, s.origin ? s.origin.array + " of " + s.origin.layer : s.what))));
}
