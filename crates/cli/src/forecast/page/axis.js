// The time axis: its labels, and the background of every row: days and weeks, nights, weekends, clock changes and now.
import { DAY, HOUR, WEEKDAYS, lasting } from "./clock.js";
import { svg, upright } from "./elements.js";

/** @typedef {import("./clock.js").Clock} Clock */
/** @typedef {import("./scale.js").Scale} Scale */

const STEPS = [5 / 60, 0.25, 0.5, 1, 3, 6, 12, 24, 168].map((hours) => hours * HOUR);
/** The width of a label, and of the number of a day. */
const LABEL = 58, NUMBER = 20;
const NIGHT = [22 * HOUR, 6 * HOUR];

/** @typedef {{time: number, label: string, isDay: boolean}} Mark */

/** The marks: round times of the wall clock, as close as their labels allow. @returns {Mark[]} */
export function marksOf(/** @type {Scale} */ scale, /** @type {Clock} */ clock) {
  const step = STEPS.find((it) => (scale.width * it) / scale.length > (it === DAY ? NUMBER : LABEL));
  return step === undefined ? months(scale, clock) : evenMarks(scale, clock, step);
}

function evenMarks(/** @type {Scale} */ scale, /** @type {Clock} */ clock, /** @type {number} */ step) {
  /** @type {Mark[]} */
  const found = [];
  // Weeks begin on Mondays; the epoch was a Thursday.
  const shift = step > DAY ? 4 * DAY : 0;
  for (let civil = Math.ceil((clock.civil(scale.from) - shift) / step) * step + shift; ; civil += step) {
    const time = clock.instant(civil);
    if (time >= scale.to) return found;
    if (time < scale.from || time === found.at(-1)?.time) continue;
    const it = clock.wall(time), isDay = civil % DAY === 0;
    const day = WEEKDAYS[it.weekday] + " " + it.day;
    const room = step === DAY ? (scale.width * step) / scale.length : LABEL;
    const named = room > 90 ? day + " " + it.month : room > 48 ? day : it.day === 1 || found.length === 0 ? it.day + " " + it.month : String(it.day);
    found.push({ time, label: step > DAY ? it.day + " " + it.month : isDay ? named : it.time, isDay });
  }
}

function months(/** @type {Scale} */ scale, /** @type {Clock} */ clock) {
  /** @type {Mark[]} */
  const found = [];
  const every = [1, 3, 12, 60].find((n) => (scale.width * n * 30.4 * DAY) / scale.length > LABEL) ?? 600;
  const start = clock.wall(scale.from);
  for (let n = 0; n < 120000; n += 1) {
    const time = clock.instant(Date.UTC(start.year, start.date.getUTCMonth() + n, 1));
    if (time >= scale.to) break;
    const it = clock.wall(time);
    const month = it.date.getUTCMonth() + 12 * it.year;
    if (time < scale.from || month % every !== 0) continue;
    found.push({ time, label: every >= 12 ? String(it.year) : it.month + (month % 12 === 0 ? " " + it.year : ""), isDay: true });
  }
  return found;
}

/** The shift of each clock change in view. */
function changesOf(/** @type {Scale} */ scale, /** @type {Clock} */ clock) {
  return clock.offsets.slice(1).flatMap((/** @type {[number, number]} */ [at, seconds], /** @type {number} */ index) => {
    if (at < scale.from || at >= scale.to) return [];
    const by = (seconds - clock.offsets[index][1]) * 1000;
    return [{ at, by, told: "the clock goes " + (by > 0 ? "forward " : "back ") + lasting(Math.abs(by)) + " at " + clock.shown(at) }];
  });
}

export function drawAxis(/** @type {SVGElement} */ axis, /** @type {Scale} */ scale, /** @type {Clock} */ clock) {
  const children = [];
  let free = 0;
  for (const { time, label, isDay } of marksOf(scale, clock)) {
    const x = scale.x(time);
    children.push(upright("mark", x, isDay ? 18 : 26, 34));
    if (x + 3 < free || x + 7 * label.length > scale.width + 4) continue;
    free = x + 3 + (isDay ? 7.8 : 6.6) * label.length;
    children.push(svg("text", { x: x + 3, y: 30, class: isDay ? "day" : "time" }, [label]));
  }
  for (const { at, by, told } of changesOf(scale, clock)) {
    const mark = svg("text", { class: "change", x: Math.min(Math.max(scale.x(at), 14), scale.width - 14), y: 13, "text-anchor": "middle" }, [
      (by > 0 ? "+" : "−") + lasting(Math.abs(by)),
    ]);
    mark.append(svg("title", {}, [told]));
    children.push(mark);
  }
  axis.replaceChildren(...children);
  axis.setAttribute("viewBox", "0 0 " + scale.width + " 34");
}

/** Draws the background of the rows. */
export function drawShade(/** @type {SVGElement} */ shade, /** @type {Scale} */ scale, /** @type {Clock} */ clock, /** @type {number} */ now) {
  /** @type {SVGElement[]} */
  const children = [];
  const width = (scale.width * DAY) / scale.length;
  const area = (/** @type {string} */ name, /** @type {number} */ from, /** @type {number} */ to) => {
    const x = Math.max(scale.x(from), 0), end = Math.min(scale.x(to), scale.width);
    if (end > x) children.push(svg("rect", { class: name, x, y: 0, width: end - x, height: "100%" }));
  };
  const line = (/** @type {string} */ name, /** @type {number} */ at) => {
    const x = scale.x(at);
    if (x >= 0 && x <= scale.width) children.push(upright(name, x, 0, "100%"));
  };
  if (width >= 5) {
    for (const { at, next, weekday, civil } of clock.midnights(scale.from - DAY, scale.to)) {
      if (weekday > 4) area("weekend", at, next);
      if (width >= 40) area("night", clock.instant(civil + NIGHT[0]), clock.instant(civil + DAY + NIGHT[1]));
      if (width >= 24 || weekday === 0) line(weekday === 0 ? "week" : "mark", at);
    }
  } else {
    for (const { time } of marksOf(scale, clock)) line("mark", time);
  }
  for (const { at } of changesOf(scale, clock)) line("change", at);
  line("now", now);
  shade.replaceChildren(...children);
}
