// The drawing of a row: steps of numbers, lanes of texts and names, areas of units, a band between bounds. Each rule
// has its own color and pattern. Steps that are too narrow become days or weeks, with the lowest and the highest value
// of each, and with captions for the values.
import { DAY, WEEK } from "./clock.js";
import { STYLES, endOf, isGap, isInLane, marksIn, namesOf, overlapsIn, textOf, stepAt, styleOf, takenFrom, valueAt, valueOf } from "./data.js";
import { shortened, svg, written } from "./elements.js";

/** @typedef {import("./clock.js").Clock} Clock */
/** @typedef {import("./data.js").Row} Row */
/** @typedef {import("./scale.js").Scale} Scale */
/** @typedef {import("./data.js").Series} Series */
/** @typedef {import("./data.js").Value} Value */

const FINE = 5;
const LETTER = 6.7;
/** The height of a band next to a bound if the other bound is unknown. */
const EDGE = 6;
/** The minimum width of a mark; narrower marks are lines. */
const BAND = 4;
/** The minimum distance of two labels. */
const NARROW = 13;

/** The height of a row. */
export function heightOf(/** @type {Row} */ row) {
  if (row.isConstant || row.kind === "marks") return 22;
  if (row.kind === "lanes") return Math.max(34, 6 + row.lanes.length * laneHeight(row));
  return row.kind === "units" ? 56 : 36;
}

const laneHeight = (/** @type {Row} */ row) => Math.max(5, Math.min(15, Math.floor(240 / row.lanes.length)));

/**
 * The starts of the days of the view, or of the weeks or months if days are too narrow, in pixels.
 * @returns {number[]}
 */
export function binsOf(/** @type {Scale} */ scale, /** @type {Clock} */ clock) {
  const wide = (/** @type {number} */ length) => (scale.width * length) / scale.length >= 6;
  const days = clock.midnights(scale.from, scale.to);
  const kept = wide(DAY) ? days : wide(WEEK) ? days.filter((/** @type {any} */ it) => it.weekday === 0) : days.filter((/** @type {any} */ it) => new Date(it.civil).getUTCDate() === 1);
  return [0, ...kept.map((/** @type {any} */ it) => scale.x(it.at)).filter((/** @type {number} */ x) => x > 0), scale.width];
}

/** The children of the drawing of a row. */
export function drawRow(/** @type {Row} */ row, /** @type {Scale} */ scale, /** @type {number} */ height, /** @type {number[]} */ bins, /** @type {Clock} */ clock) {
  return [...drawn(row, scale, height, bins, clock), ...standsOut(row, scale)];
}

/**
 * The highlights at the top of a row: a line where a rule requests a value and loses. The line has the color of warnings
 * if no policy determines the winner, in short gaps, and where another policy takes over. A narrow line is a mark.
 */
function standsOut(/** @type {Row} */ row, /** @type {Scale} */ scale) {
  /** @type {{from: number, to: number, isContested: boolean}[]} */
  const spans = [];
  const add = (/** @type {number} */ from, /** @type {number} */ to, /** @type {boolean} */ isContested) => spans.push({ from, to, isContested });
  for (const series of row.series) {
    for (const { from, to, rules } of overlapsIn(series, scale.from, scale.to)) add(from, to, rules.some((it) => !it.isByRank));
    if (new Set(series.written).size < 2) continue;
    for (let step = stepAt(series, scale.from); step < series.count && series.starts[step] < scale.to; step += 1) {
      if (isGap(series, step)) add(series.starts[step], endOf(series, step), true);
      else if (takenFrom(series, step)) add(series.starts[step], series.starts[step], true);
    }
  }
  for (const { at } of row.doubts) if (at.length > 0 && at[0] >= scale.from) add(at[0], at[0], true);
  spans.sort((one, other) => one.from - other.from);
  return [false, true].flatMap((isContested) => {
    /** @type {[number, number][]} */
    const joined = [];
    for (const span of spans) {
      if (span.isContested !== isContested || span.from >= scale.to) continue;
      const x = Math.max(scale.x(span.from), 0), end = Math.min(scale.x(span.to), scale.width), last = joined.at(-1);
      if (last && x - last[1] < (isContested ? 4 : 2)) last[1] = Math.max(last[1], end);
      else joined.push([x, end]);
    }
    const path = (/** @type {[number, number]} */ [x, end]) => {
      if (end - x >= 8) return `M${tenth(x)} 0H${tenth(end)}v${isContested ? 5 : 2}H${tenth(x)}Z`;
      const middle = Math.min(Math.max((x + end) / 2, 5), scale.width - 5);
      return isContested ? `M${tenth(middle - 5)} 0h10l-5 8Z` : `M${tenth(middle - 1)} 0h2v2h-2Z`;
    };
    return joined.length > 0 ? [svg("path", { class: isContested ? "contested-time" : "overlap", d: joined.map(path).join("") })] : [];
  });
}

function drawn(/** @type {Row} */ row, /** @type {Scale} */ scale, /** @type {number} */ height, /** @type {number[]} */ bins, /** @type {Clock} */ clock) {
  if (row.kind === "marks") return marks(row, scale, height, clock);
  if (row.isConstant) return constant(row, scale, height);
  if (row.kind === "lanes") return lanes(row, scale, bins);
  if (row.kind === "units") return units(row, scale, height, bins);
  return row.kind === "bounds" ? band(row, scale, height, bins) : numbers(row, scale, height, bins);
}

// The steps in view, with their ends on the drawing.
function visible(/** @type {Series} */ series, /** @type {Scale} */ scale) {
  const found = [];
  for (let step = stepAt(series, scale.from); step < series.count && series.starts[step] < scale.to; step += 1) {
    const x = Math.max(scale.x(series.starts[step]), -2), end = Math.min(scale.x(endOf(series, step)), scale.width + 2);
    found.push({ step, x, end, value: valueOf(series, step) });
  }
  return found;
}

// The same, with equal steps within a pixel merged: a merged step ends with the last of them.
function distinct(/** @type {Series} */ series, /** @type {Scale} */ scale) {
  const first = stepAt(series, scale.from), last = stepAt(series, scale.to - 1);
  if (last - first < scale.width) return visible(series, scale);
  /** @type {{step: number, x: number, end: number, value: Value}[]} */
  const found = [];
  const within = new Map();
  let pixel = -2;
  for (let step = first; step <= last; step += 1) {
    const x = Math.max(scale.x(series.starts[step]), -2), end = Math.min(scale.x(endOf(series, step)), scale.width + 2);
    if (Math.floor(x) !== pixel) { pixel = Math.floor(x); within.clear(); }
    const known = within.get(series.value[step]);
    if (known) { known.end = end; continue; }
    const own = { step, x, end, value: valueOf(series, step) };
    within.set(series.value[step], own);
    found.push(own);
  }
  return found;
}

const isFine = (/** @type {any[]} */ steps, /** @type {Scale} */ scale) => steps.length > scale.width / FINE;

/** Rounds to the visible precision. */
const tenth = (/** @type {number} */ number) => number.toFixed(1);

const box = (/** @type {number} */ x, /** @type {number} */ end, /** @type {number} */ top, /** @type {number} */ bottom) =>
  `M${tenth(x)} ${tenth(bottom)}V${tenth(top)}H${tenth(end)}V${tenth(bottom)}Z`;

// Boxes, with one path for each style.
function paths(/** @type {[string, string][]} */ boxes) {
  const byStyle = new Map();
  for (const [style, path] of boxes) byStyle.set(style, (byStyle.get(style) ?? "") + path);
  return [...byStyle].map(([style, d]) => svg("path", { class: style, d }));
}

function numbers(/** @type {Row} */ row, /** @type {Scale} */ scale, /** @type {number} */ height, /** @type {number[]} */ bins) {
  const [series] = row.series;
  const steps = distinct(series, scale), bottom = height - 2;
  const top = (/** @type {any} */ value) => typeof value === "number" ? bottom - Math.max((value / series.highest) * (height - 10), 1) : bottom - (value === null ? height / 2 : 1);
  if (isFine(steps, scale)) return [...fine(steps, series.highest, height, bins), ...captions(series, scale, height)];
  /** @type {[string, string][]} */
  const boxes = steps.map(({ step, x, end, value }) => [value === null ? "unknown" : styleOf(series, step), box(x, end, top(value), bottom)]);
  const labels = fitting(steps.map(({ x, end, value }) => ({ x, end, y: baseline(top(value), bottom), text: value === null ? "?" : textOf(value) })), scale);
  return [...paths(boxes), ...labels];
}

// The position of the label of a box between two edges: inside it, or else next to it.
const baseline = (/** @type {number} */ top, /** @type {number} */ bottom) => bottom - top >= 12 ? (top + bottom) / 2 + 4 : top >= 14 ? top - 3 : bottom + 11;

// The labels that fit into their steps.
function fitting(/** @type {{x: number, end: number, y: number, text: string}[]} */ labels, /** @type {Scale} */ scale) {
  return labels.flatMap(({ x, end, y, text }) => {
    const from = Math.max(x, 0), to = Math.min(end, scale.width);
    if (to - from < NARROW) return [];
    const letters = Math.floor((to - from - 4) / LETTER);
    const label = shortened(text, letters);
    if (label !== text && (letters < 4 || /^[\d?–]+$/.test(text))) return [];
    return [written(label, { x: (from + to) / 2, y, "text-anchor": "middle" })];
  });
}

/**
 * Days or weeks, each with its steps.
 * @template {{x: number, end: number}} T
 */
function inBins(/** @type {T[]} */ items, /** @type {number[]} */ bins) {
  let first = 0;
  return bins.slice(0, -1).map((x, bin) => {
    const end = bins[bin + 1], within = [];
    while (first + 1 < items.length && items[first].end <= x) first += 1;
    for (let index = first; index < items.length && items[index].x < end; index += 1) if (index === first || items[index].end > x) within.push(items[index]);
    return { x, end, within };
  });
}

const atMost = (/** @type {string} */ d) => svg("path", { class: "at-most", d });
const atLeast = (/** @type {string} */ d) => svg("path", { class: "at-least", d });

// The minimum and the maximum of each day or week.
function fine(/** @type {any[]} */ steps, /** @type {number} */ highest, /** @type {number} */ height, /** @type {number[]} */ bins) {
  const bottom = height - 2;
  let least = "M0 " + bottom, most = least;
  for (const { end, within } of inBins(steps, bins)) {
    const ys = within.map(({ value }) => bottom - ((typeof value === "number" ? value : 0) / highest) * (height - 10));
    least += `V${tenth(Math.max(0, ...ys))}H${tenth(end)}`;
    most += `V${tenth(Math.min(bottom, ...ys))}H${tenth(end)}`;
  }
  return [atMost(most + "V" + bottom + "Z"), atLeast(least + "V" + bottom + "Z")];
}

// The captions of values, as far as there is room.
function captions(/** @type {Series} */ series, /** @type {Scale} */ scale, /** @type {number} */ height) {
  if (!series.story) return [];
  const most = Math.floor(scale.width / LETTER) - 2;
  const text = series.story.length > most ? series.story.slice(0, most - 1) + "…" : series.story;
  return [written(text, { x: 4, y: height / 2 + 4 })];
}

function lanes(/** @type {Row} */ row, /** @type {Scale} */ scale, /** @type {number[]} */ bins) {
  const [series] = row.series;
  const steps = distinct(series, scale), lane = laneHeight(row);
  /** @type {SVGElement[]} */
  const all = [];
  const isNarrow = isFine(steps, scale);
  row.lanes.forEach((/** @type {string} */ name, /** @type {number} */ index) => {
    const top = 3 + index * lane, bottom = top + lane - 2;
    const style = name === "none" || name === "unknown" ? "unknown" : null;
    all.push(svg("line", { class: "lane", x1: 0, x2: scale.width, y1: bottom + 1, y2: bottom + 1 }));
    if (isNarrow) return all.push(...fineLane(steps, name, [top, bottom], bins));
    /** @type {[string, string][]} */
    const boxes = [];
    let last = null;
    for (const { step, x, end, value } of steps) {
      if (!isInLane(value, name)) continue;
      const own = style ?? styleOf(series, step);
      // Neighbors without a change in the lane are one box, and a box has at least a pixel.
      if (last && last.style === own && x - last.end < 0.5) last.end = Math.max(end, x + 1);
      else { if (last) boxes.push([last.style, box(last.x, last.end, top, bottom)]); last = { style: own, x, end: Math.max(end, x + 1) }; }
    }
    if (last) boxes.push([last.style, box(last.x, last.end, top, bottom)]);
    all.push(...paths(boxes));
    if (lane >= 11) all.push(written(shortened(name, Math.floor(scale.width / LETTER / 2)), { x: 4, y: bottom - 2 }));
  });
  return isNarrow ? [...all, ...captions(series, scale, 3 + row.lanes.length * lane)] : all;
}

// For each day or week: whether the value is in a lane at some time, and all the time.
function fineLane(/** @type {any[]} */ steps, /** @type {string} */ name, /** @type {number[]} */ [top, bottom], /** @type {number[]} */ bins) {
  let some = "", always = "";
  for (const { x, end, within } of inBins(steps, bins)) {
    const count = within.filter(({ value }) => isInLane(value, name)).length;
    if (count === 0) continue;
    if (count === within.length) always += box(x, end, top, bottom); else some += box(x, end, top, bottom);
  }
  return [atMost(some), atLeast(always)];
}

// The pods of units as stacked areas, with pending pods at the top, and the sum of the caps as a line.
function units(/** @type {Row} */ row, /** @type {Scale} */ scale, /** @type {number} */ height, /** @type {number[]} */ bins) {
  const inUnits = row.series.find((it) => it.field !== "pendingPods"), waiting = row.series.find((it) => it.field === "pendingPods");
  const names = inUnits ? namesOf(inUnits) : [];
  const caps = names.map((name) => inUnits?.caps?.[name] ?? null);
  const cap = caps.length > 0 && caps.every((it) => it !== null) ? caps.reduce((sum, it) => sum + it, 0) : null;
  let at = instantsOf(row.series, scale);
  const number = (/** @type {any} */ value, /** @type {string|null} */ name) => typeof value === "number" ? value : (name !== null && value?.[name]) || 0;
  const isUnknown = (/** @type {number} */ time) => row.series.some((it) => valueAt(it, time) === null);
  const countsAt = (/** @type {number} */ time) => {
    const value = inUnits ? valueAt(inUnits, time) : null;
    return [...names.map((name) => number(value, name)), waiting ? number(valueAt(waiting, time), null) : 0];
  };
  const sum = (/** @type {number[]} */ all) => all.reduce((sum, one) => sum + one, 0);
  // If steps are too narrow, a day or a week has its highest value.
  if (isFine(at, scale)) {
    at = inBins(at, bins).map(({ x, end, within }) => {
      const highest = within.reduce((most, it) => (sum(countsAt(most.time)) >= sum(countsAt(it.time)) ? most : it));
      return { ...highest, x, end };
    });
  }
  const sums = at.map(({ time }) => countsAt(time));
  const highest = Math.max(cap ?? 1, ...sums.map(sum));
  const bottom = height - 2, y = (/** @type {number} */ sum) => bottom - (sum / highest) * (height - 10);
  /** @type {[string, string][]} */
  const boxes = [];
  at.forEach(({ time, x, end }, index) => {
    let sum = 0;
    if (isUnknown(time)) boxes.push(["unknown", box(x, end, y(highest / 2), bottom)]);
    sums[index].forEach((count, place) => {
      if (count > 0) boxes.push([place < names.length ? "unit" + (place % STYLES) : "waiting", box(x, end, y(sum + count), y(sum))]);
      sum += count;
    });
  });
  const text = (/** @type {number} */ index) => isUnknown(at[index].time) ? "?" : sums[index].map((count, place) => (count ? (place < names.length ? names[place] + " " + count : count + " waiting") : "")).filter(Boolean).join(", ") || "0";
  const labels = at.length > scale.width / 40 ? [] : fitting(at.map(({ x, end }, index) => ({ x, end, y: height - 8, text: text(index) })), scale);
  const line = cap === null ? [] : [svg("line", { class: "cap", x1: 0, x2: scale.width, y1: y(cap), y2: y(cap) }, [svg("title", {}, ["caps: " + names.map((name, place) => name + " " + caps[place]).join(", ")])])];
  return [...paths(boxes), ...line, ...labels];
}

// The stretches without a change of any series.
function instantsOf(/** @type {any[]} */ all, /** @type {Scale} */ scale) {
  const times = new Set([scale.from]);
  for (const series of all) for (const { step } of visible(series, scale)) times.add(Math.max(series.starts[step], scale.from));
  const sorted = [...times].sort((one, other) => one - other);
  return sorted.map((time, index) => ({ time, x: scale.x(time), end: index + 1 < sorted.length ? scale.x(sorted[index + 1]) : scale.width + 2 }));
}

// A band from the lower bound to the upper one, with the replicas as a line in it. On the side of an unknown bound,
// the band is open: only its edge is drawn, and the rest is dashed.
function band(/** @type {Row} */ row, /** @type {Scale} */ scale, /** @type {number} */ height, /** @type {number[]} */ bins) {
  const [min, max, within] = row.series;
  const at = instantsOf(row.series, scale), isOpen = max.values.includes(null);
  // The space above is for unknown bounds.
  const highest = Math.max(...row.series.map((it) => it.highest)) * (isOpen ? 1.6 : 1);
  const bottom = height - 2, y = (/** @type {any} */ value) => bottom - (value / highest) * (height - 10);
  const isKnown = (/** @type {any} */ it) => typeof it === "number";
  if (isFine(at, scale)) return [...fineBand(at, [min, max], y, bins), ...captions(min, scale, height / 2), ...captions(max, scale, height * 1.4)];
  /** @type {number[]} */
  const tops = [];
  /** @type {[string, string][]} */
  const boxes = at.flatMap(({ time, x, end }) => {
    const step = stepAt(max, time), other = stepAt(min, time), low = valueAt(min, time), high = valueAt(max, time);
    const style = !isKnown(high) || (isKnown(low) && min.starts[other] > max.starts[step]) ? styleOf(min, other) : styleOf(max, step);
    const top = isKnown(high) ? y(high) : 8, foot = isKnown(low) ? Math.max(y(low), top + 1) : bottom;
    tops.push(baseline(top, foot));
    if (isKnown(low) && isKnown(high)) return [[style, box(x, end, top, foot)]];
    const rest = /** @type {[string, string]} */ (["unknown", box(x, end, top, foot)]);
    if (isKnown(high)) return [rest, [style, box(x, end, top, Math.min(top + EDGE, bottom))]];
    return isKnown(low) ? [rest, [style, box(x, end, Math.max(foot - EDGE, 0), foot)]] : [rest];
  });
  const stroke = (/** @type {{time: number, x: number, end: number}} */ { time, x, end }, /** @type {number} */ index) => {
    const it = valueAt(within, time), isAlong = index > 0 && isKnown(valueAt(within, at[index - 1].time));
    return isKnown(it) ? `${isAlong ? "L" : "M"}${tenth(x)} ${tenth(y(it))}H${tenth(end)}` : "";
  };
  const line = within ? [svg("path", { class: "within", d: at.map(stroke).join("") })] : [];
  const shown = (/** @type {any} */ it) => (it === null ? "?" : textOf(it));
  const text = (/** @type {number} */ time) => shown(valueAt(min, time)) + "–" + shown(valueAt(max, time));
  const labels = at.length > scale.width / 20 ? [] : fitting(at.map(({ time, x, end }, index) => ({ x, end, y: tops[index], text: text(time) })), scale);
  return [...paths(boxes), ...line, ...labels];
}

// For each day or week: the extent of the band at some time, and all the time. An unknown bound is at the edge of the row.
function fineBand(/** @type {{time: number, x: number, end: number}[]} */ at, /** @type {Series[]} */ [min, max], /** @type {(value: any) => number} */ y, /** @type {number[]} */ bins) {
  let some = "", always = "";
  for (const { x, end, within } of inBins(at, bins)) {
    const highs = within.map(({ time }) => valueAt(max, time)), tops = highs.map((it) => (it === null ? 8 : y(it)));
    const feet = within.map(({ time }) => y(valueAt(min, time) ?? 0));
    some += box(x, end, Math.min(...tops), Math.max(...feet));
    if (Math.min(...feet) > Math.max(...tops)) always += box(x, end, Math.max(...tops), Math.min(...feet));
  }
  return [atMost(some), atLeast(always)];
}

// A constant series is a line with its value.
function constant(/** @type {Row} */ row, /** @type {Scale} */ scale, /** @type {number} */ height) {
  const [first, second, ...rest] = row.series.map((series) => textOf(series.values[series.value[0]]));
  const text = row.kind === "bounds" ? [first + "–" + second, ...rest.map((/** @type {string} */ it) => "replicas " + it)].join(", ") : [first, second].filter((it) => it !== undefined).join(", ");
  const known = row.series.find((it) => it.values[0] !== null);
  const style = known ? styleOf(known, 0) : "unknown";
  return [
    svg("path", { class: style, d: box(-2, scale.width + 2, height / 2 + 5, height / 2 + 8) }),
    written(shortened(text, Math.floor(scale.width / LETTER) - 1), { x: 4, y: height / 2 + 3 }),
  ];
}

// A line for each mark; marks within a pixel are a band with their number.
function marks(/** @type {Row} */ row, /** @type {Scale} */ scale, /** @type {number} */ height, /** @type {Clock} */ clock) {
  const marks = marksIn(row, scale.from, scale.to);
  /** @type {{x: number, end: number, first: number, count: number}[]} */
  const bands = [];
  marks.forEach((at, index) => {
    const x = Math.round(scale.x(at)), last = bands.at(-1);
    if (last && x - last.end <= 1) { last.end = x; last.count += 1; } else bands.push({ x, end: x, first: index, count: 1 });
  });
  const isBand = (/** @type {{x: number, end: number}} */ { x, end }) => end - x >= BAND;
  const path = (/** @type {{x: number, end: number}} */ { x, end }) => {
    let d = "";
    for (let at = x; at <= end; at += 1) d += "M" + at + " 5V" + (height - 4);
    return d;
  };
  const lines = svg("path", { class: "tick", d: bands.filter((it) => !isBand(it)).map(path).join("") });
  const dense = bands.filter(isBand).map(({ x, end, first, count }) => {
    const text = count + " times, " + clock.shown(marks[first]) + " to " + clock.shown(marks[first + count - 1]);
    return svg("path", { class: "ticks", d: box(x - 1, end + 1, 5, height - 4) }, [svg("title", {}, [text])]);
  });
  const labels = fitting(bands.filter(isBand).map(({ x, end, count }) => ({ x, end, y: height / 2 + 4, text: String(count) })), scale);
  return [lines, ...dense, ...labels];
}
