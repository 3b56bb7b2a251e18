// The rows of the forecast, from the columns in the page. Other modules draw them.

/**
 * @typedef {number|string|string[]|Record<string, number>|false|null} Value
 * A list or an object has names; an absent target is false, and an unknown value is null.
 * @typedef {[kind: string, namespace: string, name: string, group: string]} Names
 * @typedef {{policy: Names, rule: string|null, at: string|null, key: string, idle?: boolean}} Writer
 * A writer is idle if it decides while none of its windows is open.
 * @typedef {{from: number, to: number, rules: {writer: Writer, because: string, isByRank: boolean}[]}} Overlap
 * Rules that request a value and lose: for a period, or at an instant.
 * @typedef {{writer: number|null, reason: string}} Origin
 * @typedef {{policy: string[], rule: string|null, at: number[], told: string, advice: string, key: string}} Doubt
 * @typedef {{
 *   target: Names, field: string, place: string|null, title: string, members: string[],
 *   caps: Record<string, number|null>|null, of: Names|null, story: string|null,
 *   count: number, values: Value[], origins: Origin[], writers: Writer[], written: number[], styled: Writer[], highest: number,
 *   overlaps: Overlap[], standsOut: [told: string, isContested: boolean][],
 *   doubts: Doubt[], starts: Float64Array, value: Uint32Array, origin: Uint32Array, end: number,
 * }} Series A field of an object. Its steps are columns: the start, the value and the origin of each.
 * @typedef {{
 *   key: string, kind: "numbers"|"lanes"|"units"|"bounds"|"marks", title: string, name: string, group: string, series: Series[],
 *   names: string, isConstant: boolean, lanes: string[], count: number, marks: Float64Array, doubts: Doubt[],
 * }} Row A drawn row: mostly one series. A row of events at instants has marks, and no series.
 * @typedef {(number|[back: number, count: number])[]} Run Numbers, and pairs for so many again from so far back.
 */

export const keyOf = JSON.stringify;
const called = (/** @type {Names} */ [kind, namespace, name]) => kind + " " + (namespace ? namespace + "/" : "") + name;
export const policyOf = (/** @type {Writer} */ writer) => called(writer.policy) + (writer.rule ? " " + writer.rule : "");
const isByName = (/** @type {unknown} */ value) => value !== null && typeof value === "object" && !Array.isArray(value);

const lengthOf = (/** @type {Run} */ run) => run.reduce((/** @type {number} */ sum, it) => sum + (typeof it === "number" ? 1 : it[1]), 0);

function expanded(/** @type {Run} */ run) {
  const column = new Uint32Array(lengthOf(run));
  let end = 0;
  for (const it of run) {
    const [back, count] = typeof it === "number" ? [0, 1] : it;
    for (const stop = end + count; end < stop; end += 1) column[end] = typeof it === "number" ? it : column[end - back];
  }
  return column;
}

// A year has thousands of steps, or half a million: columns are decoded at the first use, and a limited number of steps is cached.
const KEPT = 16e6;
/** @type {{count: number, forget: () => void}[]} */
const kept = [];

/** @template T @returns {() => T} */
function onDemand(/** @type {number} */ count, /** @type {() => T} */ create) {
  /** @type {T|null} */
  let made = null;
  return () => {
    if (made !== null) return made;
    kept.push({ count, forget: () => { made = null; } });
    while (kept.length > 1 && kept.reduce((sum, it) => sum + it.count, 0) > KEPT) kept.shift()?.forget();
    return (made = create());
  };
}

/** @returns {Series} */
function createSeries(/** @type {any} */ raw, /** @type {any} */ part, /** @type {number} */ from) {
  /** @type {any} */
  const series = {
    target: raw.target, field: raw.field, place: part.place, members: raw.members ?? [], caps: raw.caps ?? null,
    of: raw.of ?? null, doubts: part.doubts ?? [], story: raw.story ?? null, count: lengthOf(raw.run), values: raw.values, origins: part.origins,
    writers: part.writers, standsOut: raw.standsOut ?? [], styled: [], title: (part.place ? part.place + ": " : "") + (raw.title ?? called(raw.target)),
  };
  const written = new Set();
  for (const [, , origin] of raw.steps) if (part.origins[origin].writer !== null) written.add(part.origins[origin].writer);
  series.written = [...written];
  const numbers = raw.values.flatMap((/** @type {Value} */ it) => typeof it === "number" ? [it] : isByName(it) ? Object.values(/** @type {any} */ (it)) : []);
  series.highest = numbers.reduce((/** @type {number} */ most, /** @type {number} */ it) => Math.max(most, it), 1);
  const column = onDemand(series.count, () => {
    const run = expanded(raw.run), count = run.length;
    const columns = { starts: new Float64Array(count), value: new Uint32Array(count), origin: new Uint32Array(count), end: from };
    run.forEach((step, index) => {
      const [length, value, origin] = raw.steps[step];
      columns.starts[index] = columns.end;
      columns.value[index] = value;
      columns.origin[index] = origin;
      columns.end += length;
    });
    return columns;
  });
  for (const name of /** @type {const} */ (["starts", "value", "origin", "end"])) {
    Object.defineProperty(series, name, { get: () => column()[name] });
  }
  /** @type {Overlap[]|null} */
  let overlaps = raw.overlaps ? null : [];
  Object.defineProperty(series, "overlaps", { get: () => (overlaps ??= overlapsOf(raw.overlaps, part, from)) });
  return series;
}

/** @returns {Overlap[]} */
function overlapsOf(/** @type {{run: Run, steps: [number, number, number][]}} */ { run, steps }, /** @type {any} */ part, /** @type {number} */ from) {
  let end = from;
  return Array.from(expanded(run), (index) => {
    const [since, length, rules] = steps[index], begin = end + since;
    end = begin + length;
    return { from: begin, to: end, rules: part.outranked[rules] };
  });
}

/** The overlaps in a period. */
export const overlapsIn = (/** @type {Series} */ series, /** @type {number} */ from, /** @type {number} */ to) =>
  series.overlaps.filter((it) => it.from < to && (it.to > from || it.from >= from));

const GAP = 5 * 60e3;

/** Whether a step is a short gap: no rule decides between two steps of rules, and the value differs. */
export function isGap(/** @type {Series} */ series, /** @type {number} */ step) {
  const within = writerOf(series, step);
  if (step === 0 || step + 1 >= series.count || !within || within.rule || endOf(series, step) - series.starts[step] > GAP) return false;
  const before = writerOf(series, step - 1), after = writerOf(series, step + 1);
  const isOfOne = before?.rule && after?.rule && before.key === within.key && within.key === after.key;
  return Boolean(isOfOne) && series.value[step - 1] !== series.value[step] && series.value[step] !== series.value[step + 1];
}

/** Who has set the value before, if a step is that of another policy with another value. @returns {Writer|null} */
export function takenFrom(/** @type {Series} */ series, /** @type {number} */ step) {
  const [before, after] = step === 0 ? [null, null] : [writerOf(series, step - 1), writerOf(series, step)];
  const isTaken = before && after && before.key !== after.key && series.value[step - 1] !== series.value[step];
  return isTaken ? before : null;
}

/** The style of the rule that has set a step: the rules of a row are numbered in the order of their first steps. */
export function styleOf(/** @type {Series} */ series, /** @type {number} */ step) {
  const writer = writerOf(series, step);
  return writer === null || writer.idle ? "nobody" : styleOfRule(series, writer);
}

export const STYLES = 12;
export const styleOfRule = (/** @type {Series} */ series, /** @type {Writer} */ writer) => "rule" + (series.styled.indexOf(writer) % STYLES);

/** The step at an instant. */
export function stepAt(/** @type {Series} */ series, /** @type {number} */ time) {
  let low = 0, high = series.count - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (series.starts[middle] <= time) low = middle; else high = middle - 1;
  }
  return low;
}

export const endOf = (/** @type {Series} */ series, /** @type {number} */ step) =>
  step + 1 < series.count ? series.starts[step + 1] : series.end;

/** @returns {Writer|null} */
export function writerOf(/** @type {Series} */ series, /** @type {number} */ step) {
  const { writer } = series.origins[series.origin[step]];
  return writer === null ? null : series.writers[writer];
}

export function textOf(/** @type {Value|undefined} */ value) {
  if (value === null || value === undefined) return "unknown";
  if (value === false) return "none";
  if (Array.isArray(value)) return value.join(", ") || "none";
  if (typeof value === "object") {
    return Object.entries(value).map(([name, number]) => name + " " + number).join(", ") || "none";
  }
  return String(value);
}

export const valueOf = (/** @type {Series} */ series, /** @type {number} */ step) => series.values[series.value[step]];
export const valueAt = (/** @type {Series} */ series, /** @type {number} */ time) => valueOf(series, stepAt(series, time));

/** The rows of all parts; bounds of one autoscaler are one row, and so are the pods of units and the pending pods. */
export function createRows(/** @type {any} */ forecast, /** @type {number} */ from) {
  const all = forecast.parts.flatMap((/** @type {any} */ part) => {
    part.origins = part.origins.map((/** @type {[number|null, string]} */ [writer, reason]) => ({ writer, reason }));
    part.outranked = (part.outranked ?? []).map((/** @type {[number, string, boolean][]} */ rules) => rules.map(([writer, because, isByRank]) => ({ writer: part.writers[writer], because, isByRank })));
    for (const writer of part.writers) writer.key = keyOf(writer.policy);
    for (const doubt of part.doubts ?? []) doubt.key = keyOf(doubt.policy);
    return part.rows.map((/** @type {any} */ raw) => createSeries(raw, part, from));
  });
  const place = (/** @type {Series} */ it) => keyOf([it.place, it.target]);
  const byObject = new Map();
  for (const series of all) byObject.set(place(series) + series.field, series);
  // The workloads of autoscalers with both bounds, which are part of the rows of these autoscalers.
  const bounded = new Set();
  for (const it of all) {
    if (it.field === "minReplicas" && it.of && byObject.has(place(it) + "maxReplicas")) bounded.add(keyOf([it.place, it.of]));
  }
  const taken = new Set();
  /** @type {Row[]} */
  const rows = [];
  const take = (/** @type {Row["kind"]} */ kind, /** @type {Series[]} */ series) => {
    series.forEach((it) => taken.add(it));
    rows.push(createRow(kind, series));
  };
  for (const series of all) {
    if (taken.has(series)) continue;
    const other = (/** @type {string} */ field) => byObject.get(place(series) + field);
    if (series.field === "minReplicas" || series.field === "maxReplicas") {
      const bounds = [other("minReplicas"), other("maxReplicas")].filter(Boolean);
      const within = series.of && byObject.get(keyOf([series.place, series.of]) + "replicas");
      if (bounds.length > 1) take("bounds", within && !taken.has(within) ? [...bounds, within] : bounds);
      else take(kindOf(series), bounds);
    } else if (series.field === "unitPods" || series.field === "pendingPods") {
      take("units", [other("unitPods"), other("pendingPods")].filter(Boolean));
    } else if (series.field === "replicas" && bounded.has(place(series))) {
      continue;
    } else {
      take(kindOf(series), [series]);
    }
  }
  tellGroupsApart(rows);
  return [...rows, ...rowsOfMarks(forecast.occurrences)];
}

// The group distinguishes kinds of one name in several API groups.
function tellGroupsApart(/** @type {Row[]} */ rows) {
  const groups = new Map();
  const named = (/** @type {Row} */ { title, series }) => title + " " + series[0].field;
  for (const row of rows) groups.set(named(row), (groups.get(named(row)) ?? 0) + 1);
  for (const row of rows) {
    const [kind, , , group] = row.series[0].target;
    if ((groups.get(named(row)) ?? 0) < 2) continue;
    row.title = row.title.replace(kind + " ", kind + "." + group + " ");
    row.group = row.group + "." + group;
    row.names += " " + group.toLowerCase();
  }
}

// A row for each CronJob, by its name, and by its location if another one has the same name, with the instants of its Job starts.
function rowsOfMarks(/** @type {any[]} */ occurrences) {
  const byKey = new Map();
  for (const it of occurrences) {
    const key = keyOf([it.place, ...it.object, "starts", ...(it.location ? [it.location] : [])]);
    byKey.set(key, [...(byKey.get(key) ?? []), it]);
  }
  return [...byKey].map(([key, all]) => {
    const [{ place, object, location }] = all;
    const title = (place ? place + ": " : "") + called(object) + (location ? " (" + location + ")" : "");
    const count = all.reduce((/** @type {number} */ sum, /** @type {any} */ it) => sum + lengthOf(it.run) + 1, 0);
    /** @type {any} */
    const row = {
      kind: "marks", series: [], title, name: object[2], key, group: [place, object[1], object[0]].filter(Boolean).join(" · "),
      names: title.toLowerCase(), isConstant: false, lanes: [], count, doubts: [],
    };
    Object.defineProperty(row, "marks", { get: onDemand(count, () => instantsOfAll(all, count)) });
    return row;
  });
}

// The merged instants of objects, in order.
function instantsOfAll(/** @type {any[]} */ all, /** @type {number} */ count) {
  const marks = new Float64Array(count);
  let index = 0;
  for (const { first, run, steps } of all) {
    marks[index++] = first;
    for (const step of expanded(run)) { marks[index] = marks[index - 1] + steps[step]; index += 1; }
  }
  return all.length > 1 ? marks.sort() : marks;
}

/** The number of instants before another one, in a sorted list. */
export function countBefore(/** @type {Float64Array} */ marks, /** @type {number} */ time) {
  let low = 0, high = marks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (marks[middle] < time) low = middle + 1; else high = middle;
  }
  return low;
}

/** The marks of a row in a period. */
export const marksIn = (/** @type {Row} */ { marks }, /** @type {number} */ from, /** @type {number} */ to) =>
  marks.subarray(countBefore(marks, from), countBefore(marks, to));

/** @returns {Row["kind"]} */
function kindOf(/** @type {Series} */ { values }) {
  if (values.some(isByName)) return "units";
  return values.some((it) => typeof it === "string" || Array.isArray(it)) ? "lanes" : "numbers";
}

/** @returns {Row} */
function createRow(/** @type {Row["kind"]} */ kind, /** @type {Series[]} */ series) {
  const [first] = series;
  const [objectKind, namespace] = first.target;
  const policies = series.flatMap((it) => it.written.map((writer) => policyOf(it.writers[writer])));
  const members = series.flatMap((it) => it.members);
  const styled = [...new Set(series.flatMap((it) => it.written.map((writer) => it.writers[writer])))].filter((it) => !it.idle);
  for (const it of series) it.styled = styled;
  return {
    kind, series, title: first.title, name: first.members.length > 0 ? first.title : first.target[2], key: keyOf([first.place, ...first.target, first.field]),
    group: [first.place, namespace, objectKind].filter(Boolean).join(" · "),
    names: [...series.map((it) => it.title + " " + it.field), ...policies, ...members].join(" ").toLowerCase(),
    isConstant: series.every((it) => it.count === 1) && (kind !== "lanes" || lanesOf(first).length === 1), count: 0, marks: NONE,
    lanes: kind === "lanes" ? lanesOf(first) : [],
    doubts: first.doubts.filter((it) => series.some((one) => one.written.some((writer) => one.writers[writer].key === it.key))),
  };
}

const NONE = new Float64Array(0);

// The lanes of a row: texts, the names in lists, and at last the lanes for absent and for unknown values.
function lanesOf(/** @type {Series} */ { values }) {
  const names = values.flatMap((it) => (typeof it === "string" ? [it] : Array.isArray(it) ? it : []));
  const rest = [];
  if (values.some((it) => it === false || (Array.isArray(it) && it.length === 0))) rest.push("none");
  if (values.includes(null)) rest.push("unknown");
  return [...[...new Set(names)].sort().map(laneOf), ...rest];
}

// A text that equals the label for absent or unknown values has a lane of its own.
const laneOf = (/** @type {string} */ name) => (name === "none" || name === "unknown" ? keyOf(name) : name);

/** Whether a value is in a lane. */
export function isInLane(/** @type {Value} */ value, /** @type {string} */ lane) {
  if (Array.isArray(value) && value.length > 0) return value.some((it) => laneOf(it) === lane);
  return (typeof value === "string" ? laneOf(value) : textOf(value)) === lane;
}

/** The name that a number belongs to, by the sum of the numbers before it. */
export const namesOf = (/** @type {Series} */ { values }) =>
  [...new Set(values.flatMap((it) => (isByName(it) ? Object.keys(/** @type {any} */ (it)) : [])))].sort();
