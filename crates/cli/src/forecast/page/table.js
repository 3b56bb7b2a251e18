// The forecast as a table: every step in view of every displayed row, in pages.
import { endOf, marksIn, overlapsIn, policyOf, textOf, stepAt, valueOf, writerOf } from "./data.js";
import { element, html, on } from "./elements.js";

/** @typedef {import("./clock.js").Clock} Clock */
/** @typedef {import("./data.js").Row} Row */
/** @typedef {import("./scale.js").Scale} Scale */
/** @typedef {import("./data.js").Series} Series */

const PAGE = 100;

export function createTable(/** @type {any} */ list, /** @type {Scale} */ scale, /** @type {Clock} */ clock) {
  const body = element("table-body");
  let page = 0;

  // The number of steps of a series in view, and the first of them.
  function inSight(/** @type {Series} */ series) {
    // The whole period needs no columns.
    if (scale.isWhole) return { first: 0, count: series.count };
    const first = stepAt(series, scale.from);
    const last = stepAt(series, scale.to - 1);
    return { first, count: last - first + 1 };
  }

  /** @returns {{series: any, first: number, count: number, row: Row}[]} */
  function columns() {
    return list.shown.flatMap((/** @type {Row} */ row) => row.kind === "marks"
      ? [{ row, series: null, first: 0, count: scale.isWhole ? row.count : marksIn(row, scale.from, scale.to).length }]
      : row.series.map((series) => ({ row, series, ...inSight(series) })));
  }

  function lineOf(/** @type {any} */ { row, series, first }, /** @type {number} */ index) {
    const cells = series === null
      ? [clock.shown(marksIn(row, scale.from, scale.to)[index]), "", row.title, "", "starts a Job", "", "", ""]
      : stepLine(series, first + index);
    return html("tr", {}, cells.map((cell, place) => (place === 2 ? html("th", { scope: "row" }, [cell]) : html("td", {}, [cell]))));
  }

  function stepLine(/** @type {Series} */ series, /** @type {number} */ step) {
    const writer = writerOf(series, step);
    return [
      clock.shown(series.starts[step]), clock.shown(endOf(series, step)), series.title, series.field,
      textOf(valueOf(series, step)), writer ? policyOf(writer) : "", series.origins[series.origin[step]].reason,
      [...new Set(overlapsIn(series, series.starts[step], endOf(series, step)).flatMap((it) => it.rules.map((rule) => policyOf(rule.writer))))].join(", "),
    ];
  }

  function draw() {
    if (element("table").hidden) return;
    const all = columns();
    const total = all.reduce((sum, it) => sum + it.count, 0), pages = Math.max(Math.ceil(total / PAGE), 1);
    page = Math.min(page, pages - 1);
    const lines = [];
    let before = 0;
    for (const column of all) {
      const from = Math.max(page * PAGE - before, 0), to = Math.min((page + 1) * PAGE - before, column.count);
      for (let index = from; index < to; index += 1) lines.push(lineOf(column, index));
      before += column.count;
      if (before >= (page + 1) * PAGE) break;
    }
    body.replaceChildren(...lines);
    element("table-page").textContent = "Page " + (page + 1) + " of " + pages + ", " + total + " steps";
    element("table-before").disabled = page === 0;
    element("table-after").disabled = page === pages - 1;
  }

  on("table-before", "click", () => { page -= 1; draw(); });
  on("table-after", "click", () => { page += 1; draw(); });
  return { draw, first() { page = 0; } };
}
