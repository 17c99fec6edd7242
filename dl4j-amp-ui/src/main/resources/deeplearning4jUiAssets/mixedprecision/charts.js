// Lines over iterations, drawn as SVG with d3.
import {byId, element, hideTip, showTip} from "./format.js";

const HEIGHT = 230;
const MARGIN = {top: 16, right: 12, bottom: 34, left: 46};

/**
 * Draws a chart into an element.
 * series: [{name, colour, faded, points: [[x, y]]}], where a y of null breaks the line.
 * marks: [{x, y, text}]. Options: stepped, xLabel, xText, yText, yWhole, tipText(series, x, y).
 */
export function lineChart(id, series, marks, options) {
  const box = byId(id);
  const width = Math.max(200, box.clientWidth);
  const drawn = series.flatMap(s => s.points.filter(point => point[1] !== null));
  const all = drawn.concat(marks.map(mark => [mark.x, mark.y]));
  if (all.length === 0) {
    box.replaceChildren(element("p", {class: "plain"}, options.empty));
    return;
  }
  const x = d3.scale.linear().domain(widened(d3.extent(all, p => p[0]), 1)).range([MARGIN.left, width - MARGIN.right]);
  const y = d3.scale.linear().domain(widened(d3.extent(all, p => p[1]), options.yWhole ? 1 : 0.5))
    .range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  if (!options.yWhole) {
    y.nice(5);
  }
  const svg = d3.select(document.createElementNS("http://www.w3.org/2000/svg", "svg"))
    .attr("viewBox", "0 0 " + width + " " + HEIGHT).attr("height", HEIGHT)
    .attr("role", "img").attr("aria-label", options.label);
  axes(svg, x, y, width, options);
  const line = d3.svg.line().x(p => x(p[0])).y(p => y(p[1])).defined(p => p[1] !== null)
    .interpolate(options.stepped ? "step-after" : "linear");
  for (const s of series) {
    svg.append("path").attr("class", "series" + (s.faded ? " faded" : "")).attr("stroke", s.colour).attr("d", line(s.points));
    dotLonely(svg, s, x, y);
  }
  for (const mark of marks) {
    const path = d3.svg.symbol().type("triangle-down").size(58);
    svg.append("path").attr("class", "mark").attr("d", path())
      .attr("transform", "translate(" + x(mark.x) + "," + (y(mark.y) - 5) + ")");
  }
  const node = svg.node();
  node.addEventListener("pointermove", event => tip(event, node, series, marks, x, y, width, options));
  node.addEventListener("pointerdown", event => tip(event, node, series, marks, x, y, width, options));
  node.addEventListener("pointerleave", hideTip);
  box.replaceChildren(node);
}

/** A point between two gaps has no line. */
function dotLonely(svg, s, x, y) {
  s.points.forEach((point, i) => {
    const before = i > 0 && s.points[i - 1][1] !== null;
    const after = i + 1 < s.points.length && s.points[i + 1][1] !== null;
    if (point[1] !== null && !before && !after) {
      svg.append("circle").attr("r", 2.5).attr("fill", s.colour).attr("cx", x(point[0])).attr("cy", y(point[1]));
    }
  });
}

function widened([low, high], by) {
  return low === high ? [low - by, high + by] : [low, high];
}

function axes(svg, x, y, width, options) {
  const [low, high] = y.domain();
  const ticks = options.yWhole ? wholeTicks(low, high) : y.ticks(5);
  for (const tick of ticks) {
    svg.append("line").attr("class", "grid").attr("x1", MARGIN.left).attr("x2", width - MARGIN.right)
      .attr("y1", y(tick)).attr("y2", y(tick));
    svg.append("text").attr("x", MARGIN.left - 7).attr("y", y(tick) + 4).attr("text-anchor", "end").text(options.yText(tick));
  }
  const bottom = HEIGHT - MARGIN.bottom;
  svg.append("line").attr("class", "axis").attr("x1", MARGIN.left).attr("x2", width - MARGIN.right).attr("y1", bottom).attr("y2", bottom);
  const places = x.ticks(Math.max(2, Math.floor(width / 110))).filter(Number.isInteger);
  for (const tick of places) {
    const anchor = x(tick) > width - MARGIN.right - 16 ? "end" : "middle";
    svg.append("text").attr("x", x(tick)).attr("y", bottom + 15).attr("text-anchor", anchor).text(options.xText(tick));
  }
  svg.append("text").attr("x", (MARGIN.left + width - MARGIN.right) / 2).attr("y", HEIGHT - 3)
    .attr("text-anchor", "middle").text(options.xLabel);
}

/** At most seven whole numbers, evenly spaced, with 0 if it's between them. */
function wholeTicks(low, high) {
  const step = Math.max(1, Math.ceil((high - low) / 6));
  return d3.range(Math.ceil(low / step) * step, Math.floor(high) + 1, step);
}

/** Tells the values at the pointer: of a mark that is near, otherwise of each series. */
function tip(event, node, series, marks, x, y, width, options) {
  const box = node.getBoundingClientRect();
  const at = (event.clientX - box.left) * width / box.width;
  const near = marks.filter(mark => Math.abs(x(mark.x) - at) < 7);
  if (near.length > 0) {
    showTip(event, near.slice(-3).map(mark => mark.text).join("\n"));
    return;
  }
  const lines = series.map(s => {
    const point = nearest(s.points, x.invert(at));
    return point && point[1] !== null ? options.tipText(s, point[0], point[1]) : null;
  }).filter(line => line !== null);
  if (lines.length > 0) {
    showTip(event, lines.slice(0, 10).join("\n"));
  } else {
    hideTip();
  }
}

function nearest(points, x) {
  let best = null;
  for (const point of points) {
    if (best === null || Math.abs(point[0] - x) <= Math.abs(best[0] - x)) {
      best = point;
    }
  }
  return best;
}
