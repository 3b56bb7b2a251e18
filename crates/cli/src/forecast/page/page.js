// The page: the state that its parts share (the view, the selected step, the filter), and the input by mouse,
// finger and keyboard. The address has the whole state, so that a link leads to exactly this view.
import { HOUR, createClock } from "./clock.js";
import { createScale } from "./scale.js";
import { countBefore, createRows, endOf, stepAt } from "./data.js";
import { element, html, on } from "./elements.js";
import { drawAxis, drawShade } from "./axis.js";
import { createWhy } from "./why.js";
import { createList } from "./rows.js";
import { createTable } from "./table.js";

/** @typedef {import("./data.js").Row} Row */
/** @typedef {import("./data.js").Series} Series */

const read = (/** @type {string} */ id) => JSON.parse(element(id).textContent);
const about = read("about"), forecast = read("forecast");
const clock = createClock(about.zone, about.offsets);
const scale = createScale({ from: about.from, to: about.to });
const list = createList(createRows(forecast, about.from), scale, clock, { select });
const table = createTable(list, scale, clock);
const why = createWhy(scale, clock, { go: (time) => select(chosen?.row ?? null, time), close: () => select(null, null) });

/** @type {{row: Row, time: number}|null} */
let chosen = null;
let crossed = about.from;
let isPending = false, isTable = false;

// The page is drawn at most once a frame.
function refresh() {
  if (isPending) return;
  isPending = true;
  requestAnimationFrame(() => { isPending = false; draw(); });
}

function measure() {
  const isNarrow = innerWidth < 700;
  document.body.classList.toggle("narrow", isNarrow);
  list.show({ isNarrow });
  const chart = element("chart");
  const left = isNarrow ? 0 : parseFloat(getComputedStyle(chart).getPropertyValue("--label"));
  scale.width = Math.max(chart.clientWidth - left, 60);
}

function draw() {
  const period = clock.shown(scale.from) + " to " + clock.shown(scale.to) + " (" + clock.zone + ")";
  element("span").textContent = period;
  drawAxis(element("axis"), scale, clock);
  const shade = element("shade");
  shade.setAttribute("width", String(scale.width));
  shade.setAttribute("height", String(list.height));
  drawShade(shade, scale, clock, Date.now());
  drawCross();
  element("chart").hidden = element("axis-line").hidden = isTable;
  element("table").hidden = !isTable;
  if (!isTable) list.draw();
  table.draw();
  element("closer").disabled = scale.length <= 5 * 60e3;
  element("wider").disabled = element("whole").disabled = scale.isWhole;
  element("earlier").disabled = scale.from === scale.whole.from;
  element("later").disabled = scale.to === scale.whole.to;
  remember();
}

function drawCross() {
  const cross = element("cross"), isInView = crossed >= scale.from && crossed < scale.to;
  const shown = isInView ? crossed : scale.from;
  cross.hidden = !isInView;
  cross.style.left = (element("chart").clientWidth - scale.width + scale.x(shown)) + "px";
  cross.style.height = list.height + "px";
  element("instant").textContent = clock.shown(shown);
  list.cross(shown);
}

function cross(/** @type {number} */ time) {
  crossed = Math.min(Math.max(time, about.from), about.to - 1);
  drawCross();
}

/** Opens the reason of a row at an instant, by default at the crosshair. */
function select(/** @type {Row|null} */ row, /** @type {number|null} */ time) {
  if (!row) {
    chosen = null;
    list.select(null);
    why.hide();
    measure();
    refresh();
    return;
  }
  const at = time ?? (crossed >= scale.from && crossed < scale.to ? crossed : scale.from);
  chosen = { row, time: Math.min(Math.max(at, about.from), about.to - 1) };
  crossed = chosen.time;
  scale.reveal(chosen.time);
  list.select(row);
  remember();
  why.show(row, chosen.time);
  measure();
  refresh();
}

// The nearest change of a row before or after an instant.
function nextChange(/** @type {Row} */ row, /** @type {number} */ time, /** @type {number} */ way) {
  // Instants are whole milliseconds.
  if (row.kind === "marks") return row.marks[way > 0 ? countBefore(row.marks, Math.floor(time) + 1) : countBefore(row.marks, time) - 1];
  const found = row.series.flatMap((series) => {
    const step = stepAt(series, time);
    if (way > 0) return step + 1 < series.count ? [endOf(series, step)] : [];
    return series.starts[step] < time ? [series.starts[step]] : step > 0 ? [series.starts[step - 1]] : [];
  });
  return found.length === 0 ? undefined : way > 0 ? Math.min(...found) : Math.max(...found);
}

function look(/** @type {() => void} */ change) {
  change();
  table.first();
  refresh();
}

const actions = {
  closer: () => look(() => scale.zoom(0.5, share())), wider: () => look(() => scale.zoom(2, share())),
  earlier: () => look(() => scale.move(-0.25)), later: () => look(() => scale.move(0.25)),
  whole: () => look(() => scale.look(about.from, about.to - about.from)),
};
// Zooming by key or button keeps the instant of the crosshair.
const share = () => (crossed >= scale.from && crossed < scale.to && chosen ? (crossed - scale.from) / scale.length : 0.5);
for (const [id, action] of Object.entries(actions)) on(id, "click", action);
on("filter", "input", (event) => { list.show({ filter: event.target.value }); table.first(); refresh(); });
on("order", "change", (event) => { list.show({ order: event.target.value }); table.first(); refresh(); });
on("as-table", "click", () => setTable(!isTable));

function setTable(/** @type {boolean} */ is) {
  isTable = is;
  element("as-table").setAttribute("aria-pressed", String(is));
  refresh();
}

addEventListener("keydown", (event) => {
  const { key, target, ctrlKey, metaKey, altKey, shiftKey } = event;
  if (key === "Escape") return select(null, null);
  if (/** @type {any} */ (target).closest?.("input, select, .scrolled") || ctrlKey || metaKey || altKey) return;
  const row = list.rowAt(target);
  const handle = () => {
    if (key === "+" || key === "=") return actions.closer();
    if (key === "-") return actions.wider();
    if (key === "0") return actions.whole();
    if (shiftKey && key === "ArrowLeft") return actions.earlier();
    if (shiftKey && key === "ArrowRight") return actions.later();
    if (!row) return false;
    if (key === "ArrowDown" || key === "ArrowUp") return walk(row, key === "ArrowDown" ? 1 : -1);
    if (key === "ArrowLeft" || key === "ArrowRight") return step(row, key === "ArrowRight" ? 1 : -1);
    if (key === "Home") return select(row, about.from);
    if (key === "End") return select(row, about.to - 1);
    return false;
  };
  if (handle() !== false) event.preventDefault();
});

function walk(/** @type {Row} */ row, /** @type {number} */ by) {
  const next = list.shown[list.shown.indexOf(row) + by];
  if (!next) return;
  if (chosen) select(next, chosen.time);
  list.focus(next);
}

function step(/** @type {Row} */ row, /** @type {number} */ way) {
  const from = chosen?.row === row ? chosen.time : way > 0 ? scale.from : scale.to;
  const time = nextChange(row, from, way);
  if (time !== undefined) select(row, time);
  list.focus(row);
}

// Mouse and fingers: the wheel scrolls the page, and zooms with Ctrl; dragging moves; two fingers zoom.
const chart = element("chart");
const timeAt = (/** @type {number} */ x) => scale.time(x - (chart.getBoundingClientRect().right - scale.width));
const isOnTime = (/** @type {any} */ event) => event.clientX >= chart.getBoundingClientRect().right - scale.width;
/** @type {Map<number, number>} */
const fingers = new Map();
/** @type {{x: number, from: number, length: number, moved: boolean, apart: number, time: number, asks: any}|null} */
let hold = null;

chart.addEventListener("wheel", (/** @type {WheelEvent} */ event) => {
  const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
  if (!event.ctrlKey && !isSideways) return;
  event.preventDefault();
  const time = timeAt(event.clientX);
  if (isSideways) look(() => scale.move(event.deltaX / scale.width));
  else look(() => scale.zoom(Math.exp(Math.max(Math.min(event.deltaY, 60), -60) / 200), (time - scale.from) / scale.length));
}, { passive: false });

function grip() {
  const [one, other] = fingers.values();
  const x = other === undefined ? one : (one + other) / 2;
  hold = { x, from: scale.from, length: scale.length, moved: hold?.moved ?? false, apart: other === undefined ? 0 : Math.abs(one - other), time: timeAt(x), asks: null };
}
// A finger that does not move opens the reason, as a tap does, and updates it while it moves later.
const LONG = 450;
let pressed = 0;
chart.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
  if (!isOnTime(event) || event.button !== 0) return;
  if (fingers.size === 0) hold = null;
  fingers.set(event.pointerId, event.clientX);
  grip();
  clearTimeout(pressed);
  const row = list.rowAt(event.target);
  if (event.pointerType === "touch" && fingers.size === 1 && row) pressed = setTimeout(() => {
    if (!hold || hold.moved || fingers.size !== 1) return;
    hold.asks = row;
    select(row, timeAt(hold.x));
  }, LONG);
});
chart.addEventListener("contextmenu", (/** @type {any} */ event) => { if (hold?.asks || event.pointerType === "touch") event.preventDefault(); });
addEventListener("pointermove", (event) => {
  if (fingers.has(event.pointerId) && hold) {
    fingers.set(event.pointerId, event.clientX);
    const [one, other] = fingers.values();
    const x = other === undefined ? one : (one + other) / 2;
    if (Math.abs(x - hold.x) < 4 && other === undefined && !hold.moved) return;
    if (hold.asks && other === undefined) return select(hold.asks, timeAt(x));
    hold.moved = true;
    const length = other === undefined ? hold.length : hold.length * (hold.apart / Math.max(Math.abs(one - other), 10));
    const held = hold;
    look(() => {
      scale.look(0, length);
      const left = chart.getBoundingClientRect().right - scale.width;
      scale.look(held.time - ((x - left) / scale.width) * scale.length, length);
    });
    return;
  }
  const target = /** @type {any} */ (event.target);
  if (event.pointerType === "mouse" && !chosen && target.closest?.("#chart") && isOnTime(event)) cross(timeAt(event.clientX));
});
for (const end of ["pointerup", "pointercancel"]) {
  addEventListener(end, (event) => {
    if (fingers.delete(/** @type {PointerEvent} */ (event).pointerId) && fingers.size > 0) grip();
  });
}
chart.addEventListener("click", (/** @type {MouseEvent} */ event) => {
  if (hold?.moved || hold?.asks || !isOnTime(event) || event.detail === 0) return;
  const row = list.rowAt(event.target);
  if (row) select(row, timeAt(event.clientX));
});

// The address has the view, the filter and the selection.
function remember() {
  const words = new URLSearchParams();
  if (!scale.isWhole) { words.set("from", new Date(scale.from).toISOString()); words.set("to", new Date(scale.to).toISOString()); }
  if (element("filter").value) words.set("show", element("filter").value);
  if (element("order").value !== "name") words.set("by", element("order").value);
  if (isTable) words.set("as", "table");
  if (chosen) { words.set("row", chosen.row.key); words.set("at", new Date(chosen.time).toISOString()); }
  const hash = words.size > 0 ? "#" + words : "";
  try {
    if (location.hash !== hash) history.replaceState(null, "", hash || location.pathname + location.search);
  } catch {
    // In a frame, the page has no address, and a browser may limit the number of changes.
  }
  for (const link of document.querySelectorAll("#why-body a")) link.setAttribute("href", hash || "#");
}

function recall() {
  const words = new URLSearchParams(location.hash.slice(1));
  const instant = (/** @type {string} */ name) => Date.parse(words.get(name) ?? "");
  const [from, to, at] = [instant("from"), instant("to"), instant("at")];
  scale.look(about.from, about.to - about.from);
  if (from < to) scale.look(from, to - from);
  element("filter").value = words.get("show") ?? "";
  element("order").value = words.get("by") ?? "name";
  if (element("order").value === "") element("order").value = "name";
  list.show({ filter: element("filter").value, order: element("order").value });
  setTable(words.get("as") === "table");
  const row = words.has("row") ? list.find(words.get("row") ?? "") : null;
  measure();
  if (row && !Number.isNaN(at)) { select(row, at); list.focus(row); } else select(null, null);
}

function tellSource() {
  const parts = [];
  if (about.sources.length > 0) parts.push("From " + about.sources.slice(0, 3).join(", ") + (about.sources.length > 3 ? " and " + (about.sources.length - 3) + " more" : ""));
  if (about.command) parts.push("by ", html("code", {}, [about.command]));
  parts.push((parts.length > 0 ? ", " : "") + "made " + new Date(about.made).toISOString().slice(0, 16).replace("T", " ") + " UTC, time zones " + about.tzdata);
  element("source").replaceChildren(...parts.flatMap((it, index) => (index > 0 && index < parts.length - 1 ? [" ", it] : [it])));
}

function tellNotes() {
  const notes = element("notes");
  const of = (/** @type {string} */ title, /** @type {string[]} */ lines) => {
    if (lines.length === 0) return;
    const items = lines.map((it) => html("li", {}, [it]));
    notes.append(html("details", lines.length > 5 ? {} : { open: "" }, [html("summary", {}, [html("h2", {}, [title + " (" + lines.length + ")"])]), html("ul", {}, items)]));
  };
  of("Findings", forecast.findings.map((/** @type {any} */ it) => [it.severity + " " + it.code + ":", it.file + (it.line ? ":" + it.line : "") + ":", it.message, it.fix ? "(" + it.fix + ")" : ""].join(" ").trim()));
  of("Clock changes", forecast.clockChanges.map((/** @type {any} */ it) => (it.place ? it.place + ": " : "") + it.told));
  of("Assumed", forecast.assumptions);
  of("Not looked for", forecast.parts.flatMap((/** @type {any} */ part) => (part.leftOut ?? []).map((/** @type {string} */ it) => it + ", among " + part.rows.length + " values that depend on each other")));
}

if (about.empty) element("empty").textContent = about.empty;
tellSource();
tellNotes();
element("legend").open = innerWidth >= 1000;
recall();
addEventListener("hashchange", recall);
addEventListener("scroll", refresh, { passive: true });
addEventListener("resize", () => { measure(); refresh(); });
// A browser does not report the width of the paper. This is mostly the width next to the names on upright paper.
const PAPER = 480;
addEventListener("beforeprint", () => {
  list.show({ isNarrow: false });
  scale.width = PAPER;
  for (const notes of document.querySelectorAll("footer details")) notes.setAttribute("open", "");
  list.print(true);
  draw();
});
addEventListener("afterprint", () => { list.print(false); measure(); refresh(); });
setInterval(() => { if (Date.now() < about.to + HOUR) refresh(); }, 60e3);
