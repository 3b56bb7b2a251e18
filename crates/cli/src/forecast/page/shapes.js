// What a row looks like: steps of numbers, lanes of texts and names, areas of units, a band between bounds. Each rule
// has a colour and a pattern of its own. Where steps are too narrow to be seen, what is drawn is how far up the value
// is all the time of a day or a week, and how far at some time, and what it is when in words.
import { DAY, WEEK } from "./clock.js";
import { endOf, isInLane, namesOf, said, stepAt } from "./data.js";
import { shortened, svg } from "./elements.js";

export const STYLES = 12;
const FINE = 3;
const LETTER = 6.7;

/** How high a row is drawn. */
export function heightOf(/** @type {any} */ row) {
  if (row.isConstant || row.kind === "marks") return 22;
  if (row.kind === "lanes") return Math.max(34, 6 + row.lanes.length * laneHeight(row));
  return row.kind === "units" ? 56 : 36;
}

const laneHeight = (/** @type {any} */ row) => Math.max(5, Math.min(15, Math.floor(240 / row.lanes.length)));

/**
 * Where the days of the view begin, or the weeks or months if days are too narrow: in pixels.
 * @returns {number[]}
 */
export function binsOf(/** @type {any} */ scale, /** @type {any} */ clock) {
  const wide = (/** @type {number} */ length) => (scale.width * length) / scale.length >= 6;
  const days = clock.midnights(scale.from, scale.to);
  const kept = wide(DAY) ? days : wide(WEEK) ? days.filter((/** @type {any} */ it) => it.weekday === 0) : days.filter((/** @type {any} */ it) => new Date(it.civil).getUTCDate() === 1);
  return [0, ...kept.map((/** @type {any} */ it) => scale.x(it.at)).filter((/** @type {number} */ x) => x > 0), scale.width];
}

/** The children of the drawing of a row. */
export function drawRow(/** @type {any} */ row, /** @type {any} */ scale, /** @type {number} */ height, /** @type {number[]} */ bins) {
  return [...drawn(row, scale, height, bins), ...doubts(row, scale)];
}

// A mark where something is probably not meant.
function doubts(/** @type {any} */ row, /** @type {any} */ scale) {
  const marks = row.doubts.flatMap((/** @type {any} */ doubt) => doubt.at.slice(0, 1).map((/** @type {number} */ at) => ({ at, told: doubt.told })));
  return marks.filter((/** @type {any} */ { at }) => at >= scale.from && at < scale.to).map((/** @type {any} */ { at, told }) => {
    const x = scale.x(at);
    return svg("path", { class: "doubt", d: "M" + (x - 5) + " 1h10l-5 9z" }, [svg("title", {}, [told])]);
  });
}

function drawn(/** @type {any} */ row, /** @type {any} */ scale, /** @type {number} */ height, /** @type {number[]} */ bins) {
  if (row.kind === "marks") return marks(row, scale, height);
  if (row.isConstant) return constant(row, scale, height);
  if (row.kind === "lanes") return lanes(row, scale);
  if (row.kind === "units") return units(row, scale, height);
  return row.kind === "bounds" ? band(row, scale, height) : numbers(row, scale, height, bins);
}

// The steps in view, with their ends on the drawing.
function visible(/** @type {any} */ series, /** @type {any} */ scale) {
  const found = [];
  for (let step = stepAt(series, scale.from); step < series.count && series.starts[step] < scale.to; step += 1) {
    const x = Math.max(scale.x(series.starts[step]), -2), end = Math.min(scale.x(endOf(series, step)), scale.width + 2);
    found.push({ step, x, end, value: series.values[series.value[step]] });
  }
  return found;
}

const isFine = (/** @type {any[]} */ steps, /** @type {any} */ scale) => steps.length > scale.width / FINE;

/** The style of the rule that has set a step: rules are counted in their order in the row. */
function styleOf(/** @type {any} */ series, /** @type {number} */ step) {
  const { writer } = series.origins[series.origin[step]];
  return writer === null ? "nobody" : "rule" + (series.written.indexOf(writer) % STYLES);
}

const box = (/** @type {number} */ x, /** @type {number} */ end, /** @type {number} */ top, /** @type {number} */ bottom) =>
  "M" + x.toFixed(1) + " " + bottom.toFixed(1) + "V" + top.toFixed(1) + "H" + end.toFixed(1) + "V" + bottom.toFixed(1) + "Z";

// Boxes by their style, as one path each.
function paths(/** @type {[string, string][]} */ boxes) {
  const byStyle = new Map();
  for (const [style, path] of boxes) byStyle.set(style, (byStyle.get(style) ?? "") + path);
  return [...byStyle].map(([style, d]) => svg("path", { class: style, d }));
}

function numbers(/** @type {any} */ row, /** @type {any} */ scale, /** @type {number} */ height, /** @type {number[]} */ bins) {
  const [series] = row.series;
  const steps = visible(series, scale), bottom = height - 2;
  const top = (/** @type {any} */ value) => typeof value === "number" ? bottom - Math.max((value / series.highest) * (height - 10), 1) : bottom - (value === null ? height / 2 : 1);
  if (isFine(steps, scale)) return [...fine(steps, series.highest, height, bins), ...told(series, scale, height)];
  /** @type {[string, string][]} */
  const boxes = steps.map(({ step, x, end, value }) => [value === null ? "unknown" : styleOf(series, step), box(x, end, top(value), bottom)]);
  const labels = fitting(steps.map(({ x, end, value }) => ({ x, end, text: value === null ? "?" : said(value) })), scale, height / 2 + 4);
  return [...paths(boxes), ...labels];
}

// The labels that have room, in their steps.
function fitting(/** @type {{x: number, end: number, text: string}[]} */ labels, /** @type {any} */ scale, /** @type {number} */ y) {
  return labels.flatMap(({ x, end, text }) => {
    const from = Math.max(x, 0), to = Math.min(end, scale.width);
    const letters = Math.floor((to - from - 4) / LETTER);
    const label = shortened(text, letters);
    if (label !== text && (letters < 4 || /^[\d?]+$/.test(text))) return [];
    return [svg("text", { class: "value", x: (from + to) / 2, y, "text-anchor": "middle" }, [label])];
  });
}

// A day or a week at a time: what it is at least, and at most.
function fine(/** @type {any[]} */ steps, /** @type {number} */ highest, /** @type {number} */ height, /** @type {number[]} */ bins) {
  const least = bins.map(() => Infinity), most = bins.map(() => 0);
  let bin = 0;
  for (const { x, end, value } of steps) {
    const number = typeof value === "number" ? value / highest : 0;
    while (bin + 2 < bins.length && bins[bin + 1] <= x) bin += 1;
    for (let at = bin; at + 1 < bins.length && (at === bin || bins[at] < end); at += 1) {
      least[at] = Math.min(least[at], number);
      most[at] = Math.max(most[at], number);
    }
  }
  const bottom = height - 2;
  const outline = (/** @type {number[]} */ shares) => {
    let d = "M0 " + bottom;
    for (let at = 0; at + 1 < bins.length; at += 1) d += "V" + (bottom - (Number.isFinite(shares[at]) ? shares[at] : 0) * (height - 10)).toFixed(1) + "H" + bins[at + 1].toFixed(1);
    return d + "V" + bottom + "Z";
  };
  return [svg("path", { class: "at-most", d: outline(most) }), svg("path", { class: "at-least", d: outline(least) })];
}

// What it is when, as far as there is room.
function told(/** @type {any} */ series, /** @type {any} */ scale, /** @type {number} */ height) {
  if (!series.story) return [];
  const most = Math.floor(scale.width / LETTER) - 2;
  const text = series.story.length > most ? series.story.slice(0, most - 1) + "…" : series.story;
  return [svg("text", { class: "value", x: 4, y: height / 2 + 4 }, [text])];
}

function lanes(/** @type {any} */ row, /** @type {any} */ scale) {
  const [series] = row.series;
  const steps = visible(series, scale), lane = laneHeight(row);
  const all = [];
  const isNarrow = isFine(steps, scale);
  row.lanes.forEach((/** @type {string} */ name, /** @type {number} */ index) => {
    const top = 3 + index * lane, bottom = top + lane - 2;
    const style = name === "none" || name === "unknown" ? "unknown" : null;
    /** @type {[string, string][]} */
    const boxes = [];
    let last = null;
    for (const { step, x, end, value } of steps) {
      if (!isInLane(value, name)) continue;
      const own = style ?? styleOf(series, step);
      // What goes on beside another change is one box, and what is narrower than a pixel shows all the same.
      if (last && last.style === own && x - last.end < 0.5) last.end = Math.max(end, x + 1);
      else { if (last) boxes.push([last.style, box(last.x, last.end, top, bottom)]); last = { style: own, x, end: Math.max(end, x + 1) }; }
    }
    if (last) boxes.push([last.style, box(last.x, last.end, top, bottom)]);
    all.push(svg("line", { class: "lane", x1: 0, x2: scale.width, y1: bottom + 1, y2: bottom + 1 }), ...paths(boxes));
    if (lane >= 11 && !isNarrow) all.push(svg("text", { class: "value", x: 4, y: bottom - 2 }, [shortened(name, Math.floor(scale.width / LETTER / 2))]));
  });
  return isNarrow ? [...all, ...told(series, scale, 3 + row.lanes.length * lane)] : all;
}

// The pods of units as areas one on the other, those that wait at the top, and the caps of all as a line.
function units(/** @type {any} */ row, /** @type {any} */ scale, /** @type {number} */ height) {
  const inUnits = row.series.find((/** @type {any} */ it) => it.field !== "pendingPods"), waiting = row.series.find((/** @type {any} */ it) => it.field === "pendingPods");
  const names = inUnits ? namesOf(inUnits) : [];
  const caps = names.map((name) => inUnits.caps?.[name] ?? null);
  const cap = caps.length > 0 && caps.every((it) => it !== null) ? caps.reduce((sum, it) => sum + it, 0) : null;
  const at = instantsOf(row.series, scale);
  const number = (/** @type {any} */ value, /** @type {string|null} */ name) => typeof value === "number" ? value : (name !== null && value?.[name]) || 0;
  const sums = at.map(({ time }) => {
    const value = inUnits ? inUnits.values[inUnits.value[stepAt(inUnits, time)]] : null;
    const all = names.map((name) => number(value, name));
    const pending = waiting ? number(waiting.values[waiting.value[stepAt(waiting, time)]], null) : 0;
    return [...all, pending];
  });
  const highest = Math.max(cap ?? 1, ...sums.map((it) => it.reduce((sum, one) => sum + one, 0)));
  const bottom = height - 2, y = (/** @type {number} */ sum) => bottom - (sum / highest) * (height - 10);
  /** @type {[string, string][]} */
  const boxes = [];
  at.forEach(({ x, end }, index) => {
    let sum = 0;
    sums[index].forEach((count, place) => {
      if (count > 0) boxes.push([place < names.length ? "rule" + (place % STYLES) : "waiting", box(x, end, y(sum + count), y(sum))]);
      sum += count;
    });
  });
  const text = (/** @type {number} */ index) => sums[index].map((count, place) => (count ? (place < names.length ? names[place] + " " + count : count + " waiting") : "")).filter(Boolean).join(", ") || "0";
  const labels = at.length > scale.width / 40 ? [] : fitting(at.map(({ x, end }, index) => ({ x, end, text: text(index) })), scale, height - 8);
  const line = cap === null ? [] : [svg("line", { class: "cap", x1: 0, x2: scale.width, y1: y(cap), y2: y(cap) }, [svg("title", {}, ["caps: " + names.map((name, place) => name + " " + caps[place]).join(", ")])])];
  return [...paths(boxes), ...line, ...labels];
}

// The stretches over which none of several series changes; as fine as pixels.
function instantsOf(/** @type {any[]} */ all, /** @type {any} */ scale) {
  const times = new Set([scale.from]);
  for (const series of all) for (const { step } of visible(series, scale)) times.add(Math.max(series.starts[step], scale.from));
  let sorted = [...times].sort((one, other) => one - other);
  if (sorted.length > scale.width) {
    const kept = new Map(sorted.map((time) => [Math.floor(scale.x(time)), time]));
    sorted = [...kept.values()];
  }
  return sorted.map((time, index) => ({ time, x: scale.x(time), end: index + 1 < sorted.length ? scale.x(sorted[index + 1]) : scale.width + 2 }));
}

// A band from the lower bound to the upper one, with the replicas as a line in it.
function band(/** @type {any} */ row, /** @type {any} */ scale, /** @type {number} */ height) {
  const [min, max, within] = row.series;
  const at = instantsOf(row.series, scale), highest = Math.max(...row.series.map((/** @type {any} */ it) => it.highest));
  const bottom = height - 2, y = (/** @type {any} */ value) => bottom - ((typeof value === "number" ? value : 0) / highest) * (height - 10);
  const value = (/** @type {any} */ series, /** @type {number} */ time) => series.values[series.value[stepAt(series, time)]];
  /** @type {[string, string][]} */
  const boxes = at.map(({ time, x, end }) => {
    const step = stepAt(max, time), other = stepAt(min, time);
    const style = min.starts[other] > max.starts[step] ? styleOf(min, other) : styleOf(max, step);
    const top = y(value(max, time));
    return [value(min, time) === null && value(max, time) === null ? "unknown" : style, box(x, end, top, Math.max(y(value(min, time)), top + 1))];
  });
  const line = within ? [svg("path", { class: "within", d: at.map(({ time, x, end }, index) => (index ? "L" : "M") + x.toFixed(1) + " " + y(value(within, time)).toFixed(1) + "H" + end.toFixed(1)).join("") })] : [];
  const text = (/** @type {number} */ time) => said(value(min, time)) + "–" + said(value(max, time));
  const labels = at.length > scale.width / 20 ? [] : fitting(at.map(({ time, x, end }) => ({ x, end, text: text(time) })), scale, height / 2 + 4);
  return [...paths(boxes), ...line, ...labels];
}

// What never changes is a line with its value.
function constant(/** @type {any} */ row, /** @type {any} */ scale, /** @type {number} */ height) {
  const [first, second, ...rest] = row.series.map((/** @type {any} */ series) => said(series.values[series.value[0]]));
  const text = row.kind === "bounds" ? [first + "–" + second, ...rest.map((/** @type {string} */ it) => "replicas " + it)].join(", ") : [first, second].filter((it) => it !== undefined).join(", ");
  const style = row.series[0].values[0] === null ? "unknown" : styleOf(row.series[0], 0);
  return [
    svg("path", { class: style, d: box(-2, scale.width + 2, height / 2 + 5, height / 2 + 8) }),
    svg("text", { class: "value", x: 4, y: height / 2 + 3 }, [shortened(text, Math.floor(scale.width / LETTER) - 1)]),
  ];
}

function marks(/** @type {any} */ row, /** @type {any} */ scale, /** @type {number} */ height) {
  const seen = new Set();
  const ticks = row.marks.filter((/** @type {number} */ at) => at >= scale.from && at < scale.to).map((/** @type {number} */ at) => scale.x(at).toFixed(0));
  for (const x of ticks) seen.add(x);
  return [svg("path", { class: "tick", d: [...seen].map((x) => "M" + x + " 5V" + (height - 4)).join("") })];
}
