// The list of rows: grouped, sorted and filtered. Only the rows on the screen exist and are drawn.
import { textOf, valueAt } from "./data.js";
import { element, html, svg } from "./elements.js";
import { binsOf, drawRow, heightOf } from "./shapes.js";

/** @typedef {import("./clock.js").Clock} Clock */
/** @typedef {import("./data.js").Row} Row */
/** @typedef {import("./scale.js").Scale} Scale */
/** @typedef {{key: string, top: number, height: number, group?: string, row?: Row, index: number, drawing: number}} Item */

const GROUP = 30, MARGIN = 300;

/** The number of steps and the maximum, for the orders. */
const steps = (/** @type {Row} */ row) => row.series.reduce((/** @type {number} */ sum, it) => sum + it.count, row.count);
const highest = (/** @type {Row} */ row) => Math.max(0, ...row.series.map((it) => it.highest));
const byName = (/** @type {any} */ one, /** @type {any} */ other) => (one.group < other.group ? -1 : one.group > other.group ? 1 : one.title < other.title ? -1 : one.title > other.title ? 1 : 0);
const ORDERS = {
  name: byName,
  changes: (/** @type {any} */ one, /** @type {any} */ other) => steps(other) - steps(one) || byName(one, other),
  peak: (/** @type {any} */ one, /** @type {any} */ other) => highest(other) - highest(one) || byName(one, other),
};

/**
 * @param {Row[]} all
 * @param {Scale} scale
 * @param {Clock} clock
 * @param {{select: (row: Row, time: number|null) => void}} actions
 */
export function createList(all, scale, clock, actions) {
  const list = element("list");
  /** @type {Map<string, {node: any, drawing: SVGElement, at: any, drawn: string}>} */
  const nodes = new Map();
  /** @type {Item[]} */
  let items = [];
  /** @type {Row[]} */
  let shown = [];
  let height = 0, filter = "", order = "name", isPrinted = false, isNarrow = false;
  /** @type {Row|null} */
  let selected = null;
  let cross = scale.from, stamp = 0;

  function arrange() {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    const compare = ORDERS[/** @type {keyof typeof ORDERS} */ (order)] ?? byName;
    shown = all.filter((row) => words.every((it) => row.names.includes(it))).sort(compare);
    items = [];
    height = 0;
    /** @type {string|null} */
    let group = null;
    shown.forEach((row, index) => {
      if (order === "name" && row.group !== group) {
        group = row.group;
        items.push({ group: row.group, key: "group " + group, top: height, height: GROUP, index: -1, drawing: 0 });
        height += GROUP;
      }
      const own = heightOf(row);
      const whole = own + (isNarrow ? 20 : 0) + 4;
      items.push({ row, index, key: row.key, top: height, height: whole, drawing: own });
      height += whole;
    });
    list.style.height = height + "px";
    element("count").textContent = (shown.length === all.length ? "" : shown.length + " of ") + all.length + (all.length === 1 ? " row" : " rows");
    element("empty").hidden = shown.length > 0;
  }

  function nodeOf(/** @type {Item} */ item) {
    const known = nodes.get(item.key);
    if (known) return known;
    if (item.row === undefined) {
      const made = { node: html("div", { class: "group", role: "listitem" }, [html("h2", {}, [item.group ?? ""])]), drawing: svg("g"), at: null, drawn: "" };
      nodes.set(item.key, made);
      return made;
    }
    const row = item.row;
    const at = html("span", { class: "at" });
    const field = row.kind === "marks" ? "starts Jobs" : row.series.map((it) => it.field).join(", ");
    const contested = new Set(row.series.flatMap((it) => it.written.map((writer) => it.writers[writer].key)));
    // The group above the row has the rest of the name.
    const name = html("span", { class: "title" }, [order === "name" ? row.name : row.title]);
    const label = html("button", { type: "button", class: "label", tabindex: -1, title: row.title + " " + field }, [name, html("span", { class: "field" }, [field]), at]);
    if (contested.size > 1) name.append(html("span", { class: "contested", title: "set by " + contested.size + " policies" }, ["⚑ " + contested.size]));
    const doubts = [...row.doubts.map((it) => it.told), ...row.series.flatMap((it) => it.standsOut.filter(([, isContested]) => isContested).map(([told]) => told))];
    if (doubts.length > 0) name.append(html("span", { class: "contested", title: "probably not meant: " + doubts.join("; ") }, ["⚠ " + doubts.length]));
    label.addEventListener("click", () => actions.select(row, null));
    const drawing = svg("svg", { class: "drawing", role: "img", preserveAspectRatio: "none" });
    const node = html("div", { class: "row " + row.kind + (row.isConstant ? " constant" : ""), role: "listitem" }, [label, drawing]);
    node.row = row;
    const made = { node, drawing, at, drawn: "" };
    nodes.set(item.key, made);
    return made;
  }

  // The rows on the screen, or all rows on paper.
  function inView() {
    const { top } = list.getBoundingClientRect();
    const from = -top - MARGIN, to = -top + innerHeight + MARGIN;
    const isSelected = (/** @type {Item} */ item) => item.row !== undefined && item.row === selected;
    return items.filter((item) => isPrinted || (item.top + item.height > from && item.top < to) || isSelected(item));
  }

  function draw() {
    const kept = new Set(), bins = binsOf(scale, clock);
    for (const item of inView()) {
      kept.add(item.key);
      const made = nodeOf(item);
      const { node } = made;
      node.style.top = item.top + "px";
      node.style.height = item.height + "px";
      if (!node.isConnected) list.append(node);
      if (item.row === undefined) continue;
      node.classList.toggle("selected", item.row === selected);
      node.setAttribute("aria-posinset", item.index + 1);
      node.setAttribute("aria-setsize", shown.length);
      const wanted = [scale.from, scale.to, scale.width, item.drawing, stamp].join();
      if (made.drawn !== wanted) {
        made.drawn = wanted;
        made.drawing.setAttribute("viewBox", "0 0 " + scale.width + " " + item.drawing);
        made.drawing.setAttribute("height", String(item.drawing));
        made.drawing.replaceChildren(...drawRow(item.row, scale, item.drawing, bins, clock));
        const story = item.row.series.map((it) => it.story ?? textOf(it.values[0])).join("; ");
        made.drawing.setAttribute("aria-label", item.row.title + ": " + (story || item.row.count + " times"));
      }
      writeAt(made, item.row);
    }
    for (const [key, { node }] of nodes) {
      if (!kept.has(key)) { node.remove(); nodes.delete(key); }
    }
    // The tabulator key reaches one row: the selected one, or the first on the screen.
    const { top } = element("bar").getBoundingClientRect();
    const inSight = items.find((it) => it.row && nodes.has(it.key) && list.getBoundingClientRect().top + it.top >= top)?.row;
    const reached = selected && shown.includes(selected) ? selected : inSight ?? shown.find((row) => nodes.has(row.key));
    for (const { node } of nodes.values()) {
      if (node.row) node.firstChild.tabIndex = node.row === reached ? 0 : -1;
    }
  }

  function writeAt(/** @type {any} */ made, /** @type {Row} */ row) {
    const values = row.series.map((it) => textOf(valueAt(it, cross)));
    made.at.title = values.join(", ");
    made.at.textContent = row.kind === "bounds" ? values.map((it) => (it === "unknown" ? "?" : it)).join(" / ") : values.join(", ");
  }

  return {
    get shown() { return shown; },
    get height() { return height; },
    draw,
    /** @param {{filter?: string, order?: string, isNarrow?: boolean}} how */
    show(how) {
      filter = how.filter ?? filter;
      if (how.order && how.order !== order) {
        order = how.order;
        for (const { node } of nodes.values()) node.remove();
        nodes.clear();
      }
      isNarrow = how.isNarrow ?? isNarrow;
      arrange();
    },
    // All rows exist while the page is printed.
    print(/** @type {boolean} */ is) { isPrinted = is; stamp += 1; draw(); },
    // The values at an instant are next to the names.
    cross(/** @type {number} */ time) {
      cross = time;
      for (const made of nodes.values()) if (made.node.row) writeAt(made, made.node.row);
    },
    select(/** @type {Row|null} */ row) { selected = row; },
    find: (/** @type {string} */ key) => all.find((row) => row.key === key) ?? null,
    focus(/** @type {Row} */ row) {
      const item = items.find((it) => it.row === row);
      if (!item) return;
      const top = list.getBoundingClientRect().top + item.top;
      const above = element("bar").getBoundingClientRect().bottom;
      if (top < above || top + item.height > innerHeight - 8) scrollBy({ top: top - above - 40, behavior: "instant" });
      draw();
      nodes.get(item.key)?.node.firstChild.focus({ preventScroll: true });
    },
    /** The row at a position on the screen. */
    rowAt: (/** @type {any} */ target) => target.closest?.(".row")?.row ?? null,
  };
}
