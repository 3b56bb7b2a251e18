// The rows of the forecast, from the columns that stand in the page. Knows nothing of pictures.

/**
 * @typedef {number|string|string[]|Record<string, number>|false|null} Value
 * A list or an object is of names; what is not there is false, and what nobody knows is null.
 * @typedef {[kind: string, namespace: string, name: string, group: string]} Names
 * @typedef {{policy: Names, rule: string|null, at: string|null}} Writer
 * @typedef {{writer: number|null, reason: string}} Origin
 * @typedef {{policy: string[], rule: string|null, at: number[], told: string, advice: string, key: string}} Doubt
 * @typedef {{
 *   target: Names, field: string, place: string|null, title: string, members: string[],
 *   caps: Record<string, number|null>|null, of: Names|null, story: string|null,
 *   count: number, values: Value[], origins: Origin[], writers: Writer[], written: number[], highest: number,
 *   doubts: Doubt[], starts: Float64Array, value: Uint32Array, origin: Uint32Array, end: number,
 * }} Series A field of an object. Its steps are columns: when each begins, and which value and origin it has.
 * @typedef {{
 *   key: string, kind: "numbers"|"lanes"|"units"|"bounds"|"marks", title: string, name: string, group: string, series: Series[],
 *   names: string, isConstant: boolean, lanes: string[], marks: number[], doubts: Doubt[],
 * }} Row What is drawn as one: mostly one series. What happens at instants has marks, and no series.
 */

const called = (/** @type {Names} */ [kind, namespace, name]) => kind + " " + (namespace ? namespace + "/" : "") + name;
export const policyOf = (/** @type {Writer} */ writer) => called(writer.policy) + (writer.rule ? " " + writer.rule : "");
const isByName = (/** @type {unknown} */ value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** @returns {Series} */
function createSeries(/** @type {any} */ raw, /** @type {any} */ part, /** @type {number} */ from) {
  /** @type {any} */
  const series = {
    target: raw.target, field: raw.field, place: part.place, members: raw.members ?? [], caps: raw.caps ?? null,
    of: raw.of ?? null, doubts: part.doubts ?? [], story: raw.story ?? null, count: raw.run.length, values: raw.values, origins: part.origins,
    writers: part.writers, title: (part.place ? part.place + ": " : "") + (raw.title ?? called(raw.target)),
  };
  const written = new Set();
  for (const [, , origin] of raw.steps) if (part.origins[origin].writer !== null) written.add(part.origins[origin].writer);
  series.written = [...written].sort((one, other) => one - other);
  const numbers = raw.values.flatMap((/** @type {Value} */ it) => typeof it === "number" ? [it] : isByName(it) ? Object.values(/** @type {any} */ (it)) : []);
  series.highest = numbers.reduce((/** @type {number} */ most, /** @type {number} */ it) => Math.max(most, it), 1);
  // A year has thousands of steps: the columns are made once somebody looks.
  let columns = null;
  const column = () => {
    if (columns) return columns;
    const count = raw.run.length;
    columns = { starts: new Float64Array(count), value: new Uint32Array(count), origin: new Uint32Array(count), end: from };
    for (let index = 0; index < count; index += 1) {
      const [length, value, origin] = raw.steps[raw.run[index]];
      columns.starts[index] = columns.end;
      columns.value[index] = value;
      columns.origin[index] = origin;
      columns.end += length;
    }
    raw.run = null;
    return columns;
  };
  for (const name of /** @type {const} */ (["starts", "value", "origin", "end"])) {
    Object.defineProperty(series, name, { get: () => column()[name] });
  }
  return series;
}

/** Which step holds at an instant. */
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

export function said(/** @type {Value|undefined} */ value) {
  if (value === null || value === undefined) return "unknown";
  if (value === false) return "none";
  if (Array.isArray(value)) return value.join(", ") || "none";
  if (typeof value === "object") {
    return Object.entries(value).map(([name, number]) => name + " " + number).join(", ") || "none";
  }
  return String(value);
}

export const valueAt = (/** @type {Series} */ series, /** @type {number} */ time) => series.values[series.value[stepAt(series, time)]];

/** The rows of all parts; bounds of one autoscaler are one row, and so are the pods of units and those that wait. */
export function createRows(/** @type {any} */ forecast, /** @type {number} */ from) {
  const all = forecast.parts.flatMap((/** @type {any} */ part) => {
    part.origins = part.origins.map((/** @type {[number|null, string]} */ [writer, reason]) => ({ writer, reason }));
    for (const doubt of part.doubts ?? []) doubt.key = JSON.stringify(doubt.policy);
    return part.rows.map((/** @type {any} */ raw) => createSeries(raw, part, from));
  });
  const place = (/** @type {Series} */ it) => JSON.stringify([it.place, it.target]);
  const byObject = new Map();
  for (const series of all) byObject.set(place(series) + series.field, series);
  // The workloads of autoscalers with both bounds, in whose rows they stand.
  const bounded = new Set();
  for (const it of all) {
    if (it.field === "minReplicas" && it.of && byObject.has(place(it) + "maxReplicas")) bounded.add(JSON.stringify([it.place, it.of]));
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
      const within = series.of && byObject.get(JSON.stringify([series.place, series.of]) + "replicas");
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

// Kinds of one name in several API groups are told apart by the group.
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

// A row a CronJob, with the instants at which it starts a Job.
function rowsOfMarks(/** @type {any[]} */ occurrences) {
  const rows = new Map();
  for (const { place, object, at } of occurrences) {
    const key = JSON.stringify([place, ...object, "starts"]);
    if (!rows.has(key)) {
      const title = (place ? place + ": " : "") + called(object);
      rows.set(key, {
        kind: "marks", series: [], title, name: object[2], key, group: [place, object[1], object[0]].filter(Boolean).join(" · "),
        names: title.toLowerCase(), isConstant: false, lanes: [], marks: [], doubts: [],
      });
    }
    rows.get(key).marks.push(at);
  }
  return rows.values();
}

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
  return {
    kind, series, title: first.title, name: first.members.length > 0 ? first.title : first.target[2], key: JSON.stringify([first.place, ...first.target, first.field]),
    group: [first.place, namespace, objectKind].filter(Boolean).join(" · "),
    names: [...series.map((it) => it.title + " " + it.field), ...policies, ...members].join(" ").toLowerCase(),
    isConstant: series.every((it) => it.count === 1) && (kind !== "lanes" || lanesOf(first).length === 1), marks: [],
    lanes: kind === "lanes" ? lanesOf(first) : [],
    doubts: first.doubts.filter((it) => series.some((one) => one.written.some((writer) => JSON.stringify(one.writers[writer].policy) === it.key))),
  };
}

// What a lane each is for: texts by what they say, lists by what is in them, and at last what is not there or not known.
function lanesOf(/** @type {Series} */ { values }) {
  const names = values.flatMap((it) => (typeof it === "string" ? [it] : Array.isArray(it) ? it : []));
  const rest = [];
  if (values.some((it) => it === false || (Array.isArray(it) && it.length === 0))) rest.push("none");
  if (values.includes(null)) rest.push("unknown");
  return [...[...new Set(names)].sort().map(laneOf), ...rest];
}

// What is called like that which is not there, or is not known, has a lane of its own.
const laneOf = (/** @type {string} */ name) => (name === "none" || name === "unknown" ? JSON.stringify(name) : name);

/** Whether a value is in a lane. */
export function isInLane(/** @type {Value} */ value, /** @type {string} */ lane) {
  if (Array.isArray(value) && value.length > 0) return value.some((it) => laneOf(it) === lane);
  return (typeof value === "string" ? laneOf(value) : said(value)) === lane;
}

/** Which name a number belongs to: what stands before the sum of those before it. */
export const namesOf = (/** @type {Series} */ { values }) =>
  [...new Set(values.flatMap((it) => (isByName(it) ? Object.keys(/** @type {any} */ (it)) : [])))].sort();
