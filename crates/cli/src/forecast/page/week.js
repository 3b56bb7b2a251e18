// A week as a heat map: the most frequent value of a row at each hour of each weekday in view, and the days with other
// values. Computed from the steps alone.
import { DAY, HOUR, WEEKDAYS, lasting } from "./clock.js";
import { endOf, textOf, stepAt, valueOf } from "./data.js";
import { html, svg } from "./elements.js";

/** @typedef {import("./clock.js").Clock} Clock */
/** @typedef {import("./scale.js").Scale} Scale */
/** @typedef {import("./data.js").Series} Series */

const CELL = 11, LEFT = 30, TOP = 14;
/** The maximum number of listed days. */
const MAX_DAYS = 12;

/**
 * The values of each hour of each day, with their durations: `4` all of it, or `4 for 18 min, 21 for 42 min`.
 * @returns {Map<number, Map<string, number>[]>} By day, and by hour of the day: the time of each value.
 */
function hoursOf(/** @type {Series} */ series, /** @type {Scale} */ scale, /** @type {Clock} */ clock) {
  const days = new Map();
  for (let step = stepAt(series, scale.from); step < series.count && series.starts[step] < scale.to; step += 1) {
    const value = textOf(valueOf(series, step));
    const end = Math.min(endOf(series, step), scale.to);
    for (let time = Math.max(series.starts[step], scale.from); time < end; ) {
      const civil = clock.civil(time);
      const next = Math.min(time + HOUR - (((civil % HOUR) + HOUR) % HOUR), end);
      const date = Math.floor(civil / DAY), hour = Math.floor((civil - date * DAY) / HOUR);
      if (!days.has(date)) days.set(date, Array.from({ length: 24 }, () => new Map()));
      const cell = days.get(date)[hour];
      cell.set(value, (cell.get(value) ?? 0) + next - time);
      time = next;
    }
  }
  return days;
}

const weekday = (/** @type {number} */ date) => (((date + 3) % 7) + 7) % 7;
// An hour that is partly in view, or occurs twice, is treated as a whole hour.
const inWords = (/** @type {Map<string, number>} */ hour) => hour.size === 1 ? [...hour.keys()][0] : [...hour].map(([value, length]) => value + " for " + lasting(length)).join(", ");

/** The most frequent value of a cell, and whether it is the only one. */
function mostOften(/** @type {string[]} */ words) {
  const counts = new Map();
  for (const it of words) counts.set(it, (counts.get(it) ?? 0) + 1);
  const [usual] = [...counts].reduce((most, it) => (it[1] > most[1] ? it : most), ["", 0]);
  return { usual, isAlways: counts.size < 2 };
}

/** @returns {HTMLElement} */
export function weekOf(/** @type {Series} */ series, /** @type {Scale} */ scale, /** @type {Clock} */ clock) {
  const days = hoursOf(series, scale, clock);
  /** @type {string[][]} */
  const words = Array.from({ length: 7 * 24 }, () => []);
  const lasts = new Map();
  for (const [date, hours] of days) {
    hours.forEach((hour, index) => {
      const cell = weekday(date) * 24 + index;
      if (hour.size === 0) return;
      words[cell].push(inWords(hour));
      for (const [value, length] of hour) lasts.set(cell + " " + value, (lasts.get(cell + " " + value) ?? 0) + length);
    });
  }
  const mostly = words.map(mostOften);
  // A cell with changes has the color of its longest value.
  const longest = mostly.map(({ usual }, cell) => {
    const values = [...lasts].filter(([key]) => key.startsWith(cell + " ")).map(([key, length]) => /** @type {[string, number]} */ ([key.slice(String(cell).length + 1), length]));
    return usual === "" ? "" : values.reduce((most, it) => (it[1] > most[1] ? it : most), /** @type {[string, number]} */ (["", 0]))[0];
  });
  const kinds = [...new Set(longest.filter((it) => it !== ""))].sort((one, other) => Number(one) - Number(other) || (one < other ? -1 : 1));
  const drawn = [];
  for (let hour = 0; hour < 24; hour += 6) drawn.push(svg("text", { x: LEFT + hour * CELL, y: TOP - 4 }, [String(hour).padStart(2, "0")]));
  WEEKDAYS.forEach((name, day) => {
    drawn.push(svg("text", { x: 0, y: TOP + day * CELL + 9 }, [name]));
    for (let hour = 0; hour < 24; hour += 1) {
      const cell = day * 24 + hour, { usual, isAlways } = mostly[cell];
      const from = String(hour).padStart(2, "0") + ":00", to = String(hour + 1).padStart(2, "0") + ":00";
      const strength = kinds.length > 1 ? 0.12 + (0.88 * kinds.indexOf(longest[cell])) / (kinds.length - 1) : 0.5;
      const square = svg("rect", {
        class: usual === "" ? "unknown" : isAlways ? "cell" : "cell mixed", x: LEFT + hour * CELL, y: TOP + day * CELL,
        width: CELL - 1, height: CELL - 1, "fill-opacity": usual === "" ? 0 : strength.toFixed(2),
      });
      square.append(svg("title", {}, [name + " " + from + " to " + to + ": " + (usual === "" ? "not in view" : usual + (isAlways ? "" : ", not always"))]));
      drawn.push(square);
    }
  });
  const width = LEFT + 24 * CELL, height = TOP + 7 * CELL;
  const label = "What it mostly is, by weekday and hour, from " + (kinds[0] ?? "nothing") + " to " + (kinds.at(-1) ?? "nothing");
  const map = svg("svg", { class: "week", viewBox: "0 0 " + width + " " + height, width, height, role: "img", "aria-label": label }, drawn);
  return html("div", {}, [html("h3", {}, ["By weekday and hour"]), map, exceptions(days, mostly)]);
}

// The days with other values, and these values.
function exceptions(/** @type {Map<number, Map<string, number>[]>} */ days, /** @type {{usual: string}[]} */ mostly) {
  const others = [...days].flatMap(([date, hours]) => {
    const values = new Set();
    hours.forEach((hour, index) => {
      const isUsual = hour.size === 0 || inWords(hour) === mostly[weekday(date) * 24 + index].usual;
      if (!isUsual) for (const value of hour.keys()) values.add(value);
    });
    return values.size > 0 ? [{ date, values }] : [];
  });
  const items = others.slice(0, MAX_DAYS).map(({ date, values }) => {
    const day = new Date(date * DAY).toISOString().slice(0, 10);
    return html("li", {}, [WEEKDAYS[weekday(date)] + " " + day + ": " + [...values].join(", ")]);
  });
  if (others.length > MAX_DAYS) items.push(html("li", {}, ["and " + (others.length - MAX_DAYS) + " more days"]));
  if (items.length === 0) return html("p", { class: "quiet" }, ["The same every week in view."]);
  return html("div", {}, [html("p", { class: "quiet" }, ["Not as mostly on:"]), html("ul", {}, items)]);
}
