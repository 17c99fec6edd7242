// A map of layers by time, drawn on a canvas.
import {byId, element, hideTip, percent, showTip} from "./format.js";

const LIMITS = [0, 0.001, 0.01, 0.1, 0.5];
const LIMIT_TEXTS = ["none", "≤ 0.1 %", "≤ 1 %", "≤ 10 %", "≤ 50 %", "more"];
const AXIS = 20;
const MOST_HEIGHT = 420;

export const BLUES = ["#eef3f8", "#c6dbef", "#9ecae1", "#6baed6", "#3182bd", "#08519c"];
export const REDS = ["#f7f3ee", "#fdd9b5", "#fdb97d", "#fd8d3c", "#e6550d", "#a63603"];
const NOT_FINITE = "#3d0a2c";

function colour(cell, colours) {
  if (cell.notFinite > 0) {
    return NOT_FINITE;
  }
  const step = LIMITS.findIndex(limit => cell.share <= limit);
  return colours[step < 0 ? colours.length - 1 : step];
}

/**
 * Draws a map into an element.
 * rows: names of layers. columns: [{label, cells: [{share, notFinite, text} or null]}], one for each report.
 */
export function heatMap(id, rows, columns, colours, options) {
  const box = byId(id);
  const shown = rows.map((name, i) => i).filter(i => columns.some(column => column.cells[i]));
  if (shown.length === 0) {
    box.replaceChildren(element("p", {class: "plain"}, options.empty));
    return;
  }
  const width = Math.max(200, box.clientWidth);
  const left = Math.min(130, Math.round(width * 0.3));
  const groups = grouped(columns, Math.floor((width - left) / 3));
  const rowHeight = Math.max(5, Math.min(20, Math.floor(MOST_HEIGHT / shown.length)));
  const height = rowHeight * shown.length + AXIS;
  const canvas = document.createElement("canvas");
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = height + "px";
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", options.label);
  canvas.dataset.rows = shown.length;
  canvas.dataset.columns = groups.length;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const edge = i => left + Math.round((width - left) * i / groups.length);
  paint(pen, shown, groups, rowHeight, edge, colours);
  letter(pen, rows, shown, groups, rowHeight, edge, left, width);
  const point = event => tip(event, canvas, rows, shown, groups, rowHeight, left, width);
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("pointerdown", point);
  canvas.addEventListener("pointerleave", hideTip);
  box.replaceChildren(canvas, keys(colours, options), mostOf(rows, shown, columns, options));
}

/** Joins neighbouring columns until they fit; each layer keeps the worst of its numbers. */
function grouped(columns, most) {
  const size = Math.max(1, Math.ceil(columns.length / Math.max(1, most)));
  const groups = [];
  for (let i = 0; i < columns.length; i += size) {
    groups.push(columns.slice(i, i + size).reduce(worst));
  }
  return groups;
}

function worst(one, other) {
  return {label: other.label, cells: one.cells.map((cell, i) => worse(cell, other.cells[i]))};
}

function worse(one, other) {
  if (!one || !other) {
    return one || other;
  }
  return one.notFinite + one.share > other.notFinite + other.share ? one : other;
}

function paint(pen, shown, groups, rowHeight, edge, colours) {
  const gap = rowHeight > 8 ? 1 : 0;
  groups.forEach((group, column) => shown.forEach((row, place) => {
    const cell = group.cells[row];
    if (cell) {
      pen.fillStyle = colour(cell, colours);
      pen.fillRect(edge(column), place * rowHeight, edge(column + 1) - edge(column), rowHeight - gap);
    }
  }));
}

function letter(pen, rows, shown, groups, rowHeight, edge, left, width) {
  pen.font = "11px system-ui, 'DejaVu Sans', Arial, sans-serif";
  pen.fillStyle = "#4d5760";
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  const every = Math.ceil(12 / rowHeight);
  shown.forEach((row, place) => {
    if (place % every === 0) {
      pen.fillText(fitted(pen, rows[row], left - 8), left - 6, place * rowHeight + rowHeight / 2);
    }
  });
  const bottom = shown.length * rowHeight + AXIS / 2 + 2;
  const labels = Math.max(1, Math.min(groups.length, Math.floor((width - left) / 70)));
  for (let i = 0; i < labels; i++) {
    const column = labels === 1 ? groups.length - 1 : Math.round(i * (groups.length - 1) / (labels - 1));
    const middle = (edge(column) + edge(column + 1)) / 2;
    pen.textAlign = labels > 1 && i === 0 ? "left" : i === labels - 1 ? "right" : "center";
    pen.fillText(groups[column].label, labels > 1 && i === 0 ? edge(0) : i === labels - 1 ? width : middle, bottom);
  }
}

function fitted(pen, text, width) {
  if (pen.measureText(text).width <= width) {
    return text;
  }
  let end = text.length;
  while (end > 1 && pen.measureText(text.substring(0, end) + "…").width > width) {
    end--;
  }
  return text.substring(0, end) + "…";
}

function tip(event, canvas, rows, shown, groups, rowHeight, left, width) {
  const box = canvas.getBoundingClientRect();
  const place = Math.floor((event.clientY - box.top) / rowHeight);
  const column = Math.floor((event.clientX - box.left - left) * groups.length / (width - left));
  const row = shown[place];
  const cell = row !== undefined && groups[column] ? groups[column].cells[row] : null;
  if (cell) {
    showTip(event, rows[row] + ", iteration " + groups[column].label + "\n" + cell.text);
  } else {
    hideTip();
  }
}

function keys(colours, options) {
  const texts = options.notFinite ? LIMIT_TEXTS.concat("not finite") : LIMIT_TEXTS;
  const box = element("div", {class: "keys"});
  texts.forEach((text, i) => {
    const swatch = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const square = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    square.setAttribute("width", 16);
    square.setAttribute("height", 10);
    square.setAttribute("fill", colours[i] || NOT_FINITE);
    swatch.append(square);
    box.append(element("span", {}, swatch, text));
  });
  return box;
}

/** Names the layer with the largest share in the last report. */
function mostOf(rows, shown, columns, options) {
  const last = columns[columns.length - 1];
  const cells = shown.filter(row => last.cells[row]);
  const most = cells.reduce((best, row) =>
    best === null || worse(last.cells[best], last.cells[row]) === last.cells[row] ? row : best, null);
  const found = most !== null && (last.cells[most].share > 0 || last.cells[most].notFinite > 0);
  return element("p", {class: "most"}, found
    ? "Most in iteration " + last.label + ": " + rows[most] + ", " + percent(last.cells[most].share)
    : "None in iteration " + last.label + ".");
}
