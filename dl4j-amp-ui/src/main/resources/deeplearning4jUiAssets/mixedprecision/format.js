// Texts of numbers, and elements of the page.

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** Makes an element. Texts are never markup: names of layers and sessions are anybody's. */
export function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "class") {
      made.className = value;
    } else if (key === "colour") {
      made.style.background = value;
    } else if (key.startsWith("on")) {
      made.addEventListener(key.substring(2), value);
    } else {
      made.setAttribute(key, value);
    }
  }
  made.append(...children.map(child => child instanceof Node ? child : String(child)));
  return made;
}

export function byId(id) {
  return document.getElementById(id);
}

/** A whole number of any size, with separators. */
export function whole(number) {
  return number === null || number === undefined ? "not finite" : number.toLocaleString("en-US", {maximumFractionDigits: 0});
}

/** Four digits; what isn't finite is null in JSON. */
export function digits(number) {
  if (number === null || number === undefined) {
    return "not finite";
  }
  const magnitude = Math.abs(number);
  return number === 0 || (magnitude >= 1e-3 && magnitude < 1e6)
    ? String(Number(number.toPrecision(4)))
    : number.toExponential(2).replace("e+", "e");
}

/** A power of two as 2¹⁶. */
export function powerOfTwo(exponent) {
  const raised = String(Math.abs(exponent)).split("").map(digit => SUPERSCRIPTS[Number(digit)]).join("");
  return "2" + (exponent < 0 ? "⁻" : "") + raised;
}

/** A scale: 2¹⁶ if it's a power of two, otherwise its digits. */
export function scale(value) {
  if (value === null || value === undefined) {
    return "not finite";
  }
  const exponent = Math.log2(value);
  return Number.isInteger(exponent) ? powerOfTwo(exponent) : digits(value);
}

/** A share from 0 to 1 as percent. */
export function percent(share) {
  const number = 100 * share;
  if (number === 0) {
    return "0 %";
  }
  return (number < 0.1 ? number.toPrecision(1) : number < 10 ? number.toFixed(1) : number.toFixed(0)) + " %";
}

/** How long ago a time was. */
export function ago(time) {
  const seconds = Math.max(0, Math.round((Date.now() - time) / 1000));
  if (seconds < 60) {
    return seconds + " s ago";
  }
  if (seconds < 3600) {
    return Math.round(seconds / 60) + " min ago";
  }
  return new Date(time).toLocaleString();
}

/** Short names of workers: what differs among them, if most of it is the same. */
export function shortNames(workers) {
  let common = 0;
  while (workers.length > 1 && workers.every(id => common < id.length - 1 && id[common] === workers[0][common])) {
    common++;
  }
  const cut = Math.max(0, workers[0].lastIndexOf("_", common) + 1);
  return new Map(workers.map(id => {
    const end = cut > 8 ? id.substring(cut) : id;
    if (/^\d+$/.test(end)) {
      return [id, (/_thread_\d+$/.test(id) ? "replica " : "worker ") + end];
    }
    return [id, end.replace(/^thread_(\d+)$/, "replica $1")];
  }));
}

/** Shows a text beside the pointer. */
export function showTip(event, text) {
  const tip = byId("tip");
  tip.textContent = text;
  tip.hidden = false;
  const left = Math.min(event.pageX + 14, document.documentElement.clientWidth - tip.offsetWidth - 6);
  tip.style.left = Math.max(6, left) + "px";
  tip.style.top = (event.pageY + 16) + "px";
}

export function hideTip() {
  byId("tip").hidden = true;
}
