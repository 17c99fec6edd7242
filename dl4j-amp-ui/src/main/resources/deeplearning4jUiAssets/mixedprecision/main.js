// The tab: selection, the loop that asks the server, and what is drawn.
import {lineChart} from "./charts.js";
import {Feed} from "./feed.js";
import {ago, byId, digits, element, percent, powerOfTwo, scale, shortNames, whole} from "./format.js";
import {BLUES, heatMap, REDS} from "./heatmap.js";
import {isScaled, showSkips, showPlan, showScales, showTiles, showWorkers} from "./panels.js";

const COLOURS = ["#1985ac", "#d9822b", "#3d9a50", "#8e5bb5", "#b8860b", "#c2478a", "#4a6fd4", "#7a6a58"];
const PAUSE = 1000;
const QUIET = 60000;
const SUBNORMAL_OF = {gradients: "Share of gradients of each layer's input that are zero or have lost digits.",
  outputs: "Share of numbers in each layer's output that have lost digits. Zeros don't count."};
const OVERFLOW_OF = {gradients: "Share of gradients that twice their size would overflow, or that did.",
  outputs: "Share of outputs that twice their size would overflow, or that did."};

let feed = null;
let sessions = [];
let shown = "gradients";
let drawn = "";
let timer = 0;
let turn = 0;

/** Fills a list of choices, if they have changed. */
function offer(list, choices, chosen) {
  const key = JSON.stringify(choices);
  if (list.dataset.choices !== key) {
    list.dataset.choices = key;
    list.replaceChildren(...choices.map(([value, text]) => element("option", {value}, text)));
  }
  list.value = chosen;
}

function say(text, bad) {
  byId("status").textContent = text;
  byId("status").className = bad ? "bad" : "";
}

function select(session, worker) {
  const same = feed !== null && feed.session === session && feed.worker === worker;
  if (!same) {
    feed = new Feed(session, worker);
    drawn = "";
    byId("content").hidden = true;
    say("Loading…");
  }
}

function choose(session, worker) {
  const found = sessions.find(s => s.id === session);
  const ids = found.workers.map(w => w.id);
  select(session, ids.includes(worker) ? worker : ids[0]);
  next(0);
}

function next(pause) {
  turn++;
  clearTimeout(timer);
  timer = setTimeout(loop, pause);
}

async function loop() {
  const mine = turn;
  try {
    if (!document.hidden) {
      await refresh();
    }
  } catch (e) {
    if (turn === mine) {
      say("The training program doesn't answer (" + e.message + "). This is what it reported before.", true);
    }
  }
  if (turn === mine) {
    next(PAUSE);
  }
}

async function refresh() {
  const mine = turn;
  const listed = await Feed.sessions();
  if (turn !== mine) {
    return;
  }
  sessions = listed;
  byId("empty").hidden = sessions.length > 0;
  byId("choices").hidden = sessions.length === 0;
  if (sessions.length === 0) {
    feed = null;
    byId("content").hidden = true;
    say("Waiting for a first report.");
    return;
  }
  const asked = feed === null ? new URLSearchParams(location.search).get("session") : feed.session;
  const session = sessions.find(s => s.id === asked) || sessions[0];
  const ids = session.workers.map(w => w.id);
  select(session.id, feed !== null && feed.session === session.id && ids.includes(feed.worker) ? feed.worker : ids[0]);
  const names = shortNames(ids);
  offer(byId("session"), sessions.map(s => [s.id, s.id]), session.id);
  offer(byId("worker"), ids.map(id => [id, names.get(id)]), feed.worker);
  byId("workerChoice").hidden = ids.length < 2;
  await feed.update(session.workers);
  if (turn === mine) {
    show(session, names);
  }
}

function show(session, names) {
  const chosen = feed.chosen();
  const last = chosen.steps[chosen.steps.length - 1];
  if (!last) {
    say("Waiting for the first report of " + feed.session + ".");
    return;
  }
  const seconds = (Date.now() - session.last) / 1000;
  say(seconds * 1000 < QUIET
    ? "Last report " + ago(session.last)
    : "No report since " + new Date(session.last).toLocaleString() + ": the training has ended, or it pauses.");
  const key = JSON.stringify([shown, [...feed.workers.values()].map(w => w.last), byId("content").clientWidth]);
  byId("content").hidden = false;
  if (key !== drawn) {
    drawn = key;
    draw(chosen, last, session, names);
  }
}

function draw(chosen, last, session, names) {
  const workers = session.workers.map((w, i) => {
    const part = feed.workers.get(w.id);
    return {id: w.id, name: names.get(w.id), colour: COLOURS[i % COLOURS.length], chosen: w.id === feed.worker,
      steps: part.steps, skips: part.skips, last: part.steps[part.steps.length - 1], time: w.last};
  });
  showTiles(chosen.plan, last, chosen.skips);
  showWorkers(workers, id => choose(feed.session, id));
  drawLines(chosen.plan, workers);
  drawMaps(chosen);
  showSkips(chosen.skips);
  showScales(chosen.plan, chosen.steps);
  showPlan(chosen.plan);
}

/** Iterations of a worker count up, unless its network is another one in each task: then the time is what goes on. */
function drawLines(plan, workers) {
  const counts = workers.every(w => w.steps.every((s, i) => i === 0 || s.iteration > w.steps[i - 1].iteration));
  const x = counts ? s => s.iteration : s => s.time;
  const options = {
    xLabel: counts ? "iteration" : "time",
    xText: counts ? whole : time => new Date(time).toLocaleTimeString(),
  };
  const series = y => workers.map(w => ({name: w.name, colour: w.colour, faded: workers.length > 1 && !w.chosen,
    points: w.steps.map(s => [x(s), y(s)])}));
  const start = s => workers.length > 1 ? s.name + ": " : "";
  const at = (s, where) => start(s) + options.xLabel + " " + options.xText(where) + ", ";
  const marks = workers.flatMap(w => w.skips.map(skip => ({x: x(skip), y: log2(skip.lossScale),
    text: start(w) + "skipped in iteration " + whole(skip.iteration) + " at " + scale(skip.lossScale)
      + (skip.origin ? ": " + skip.origin.array + " of " + skip.origin.layer : "")}))).filter(mark => mark.y !== null);
  byId("lossScaleNote").textContent = plan.layerScales
    ? "Each layer in HALF has a scale of its own, see below. Triangles are skipped steps."
    : isScaled(plan)
      ? "Triangles are skipped steps, at the scale that they had."
      : "The loss isn't scaled: " + plan.precision + " has the range of FP32. Triangles are skipped steps.";
  lineChart("lossScaleChart", series(s => log2(s.lossScale)), marks, {...options, label: "Loss scale over time", stepped: true,
    yWhole: true, yText: powerOfTwo, tipText: (s, where, y) => at(s, where) + "scale " + powerOfTwo(y), empty: "No report yet."});
  const gaps = workers.some(w => w.steps.some(s => s.loss === null));
  byId("lossNote").textContent = "Of the reported iterations, without the loss scale."
    + (gaps ? " Where it isn't finite the line has a gap." : "");
  lineChart("lossChart", series(s => s.loss), [], {...options, label: "Loss over time", yText: digits,
    tipText: (s, where, y) => at(s, where) + "loss " + digits(y), empty: "No report has a finite loss."});
}

function log2(value) {
  return value === null || value <= 0 ? null : Math.round(Math.log2(value) * 1000) / 1000;
}

function drawMaps(chosen) {
  const names = chosen.plan.rows.map(r => r.name);
  const looked = chosen.steps.filter(step => step[shown]);
  const columns = shareOf => looked.map(step => ({label: whole(step.iteration), cells: names.map((name, i) => {
    const numbers = step[shown][i];
    return numbers ? {share: shareOf(numbers), notFinite: 0, text: describe(numbers)} : null;
  })}));
  byId("underflowNote").textContent = SUBNORMAL_OF[shown];
  byId("overflowNote").textContent = OVERFLOW_OF[shown];
  const empty = "No report has numbers of layers. Layers that DL4J computes itself have none.";
  heatMap("underflowMap", names, columns(([zero, subnormal]) => shown === "gradients" ? zero + subnormal : subnormal), BLUES,
    {label: "Underflow of layers over time", empty});
  const overflow = columns(([, , near, nonFinite]) => near + nonFinite);
  overflow.forEach((column, c) => column.cells.forEach((cell, i) => {
    if (cell) {
      cell.notFinite = looked[c][shown][i][3];
    }
  }));
  heatMap("overflowMap", names, overflow, REDS, {label: "Overflow of layers over time", empty, notFinite: true});
}

function describe([zero, subnormal, near, nonFinite, largest]) {
  return "zero " + percent(zero) + ", subnormal " + percent(subnormal) + "\nnear the limit " + percent(near)
    + ", not finite " + percent(nonFinite) + "\nlargest " + digits(largest);
}

byId("session").addEventListener("change", event => choose(event.target.value, null));
byId("worker").addEventListener("change", event => choose(feed.session, event.target.value));
document.querySelectorAll(".switch button").forEach(button => button.addEventListener("click", () => {
  shown = button.dataset.of;
  document.querySelectorAll(".switch button").forEach(b => b.setAttribute("aria-pressed", b === button));
  next(0);
}));
window.addEventListener("resize", () => next(100));
document.addEventListener("visibilitychange", () => next(0));

/** DL4J's own tabs have the session in their address when the server shows several at once. */
async function linkTabs() {
  const several = (await (await fetch("/train/multisession")).text()) === "true";
  document.querySelectorAll("a.dl4j").forEach(link => link.addEventListener("click", event => {
    if (several && feed !== null) {
      event.preventDefault();
      location.href = "/train/" + encodeURIComponent(feed.session) + "/" + link.dataset.page;
    }
  }));
}

linkTabs();
next(0);
