// The reason for the value of a row at an instant: the value, its start and end, its writer and location, and the next
// value.
import { WEEK, lasting } from "./clock.js";
import { countBefore, endOf, isGap, overlapsIn, policyOf, textOf, stepAt, styleOfRule, takenFrom, valueOf, writerOf } from "./data.js";
import { element, html, on, swatch } from "./elements.js";
import { weekOf } from "./week.js";

/** @typedef {import("./clock.js").Clock} Clock */
/** @typedef {import("./data.js").Row} Row */
/** @typedef {import("./scale.js").Scale} Scale */
/** @typedef {import("./data.js").Series} Series */

export function createWhy(/** @type {Scale} */ scale, /** @type {Clock} */ clock, /** @type {{go: (time: number) => void, close: () => void}} */ actions) {
  const panel = element("why"), body = element("why-body");
  on("why-close", "click", actions.close);

  const line = (/** @type {string} */ name, /** @type {(Node|string)[]} */ value) => [html("dt", {}, [name]), html("dd", {}, value)];

  function of(/** @type {Series} */ series, /** @type {number} */ time) {
    const step = stepAt(series, time), from = series.starts[step], to = endOf(series, step);
    const writer = writerOf(series, step);
    const value = valueOf(series, step);
    const facts = [
      ...line("since", [clock.shown(from) + (step === 0 ? " (the forecast begins)" : "")]),
      ...line("until", [clock.shown(to) + (step + 1 < series.count ? "" : " (the forecast ends)") + ", " + lasting(to - from)]),
      ...line("because", [series.origins[series.origin[step]].reason]),
    ];
    if (writer) facts.push(...line("set by", [...(writer.idle ? [] : [swatch(styleOfRule(series, writer))]), policyOf(writer)]));
    if (writer?.at) facts.push(...line("written in", [html("code", {}, [writer.at])]));
    const before = takenFrom(series, step);
    if (before) facts.push(...line("instead of", [textOf(valueOf(series, step - 1)) + ", set by " + policyOf(before)]));
    if (isGap(series, step)) facts.push(...line("gap", ["no rule is open for " + lasting(to - from)]));
    const others = new Map(overlapsIn(series, from, to).filter((it) => it.to === it.from || (it.from <= time && time < it.to)).flatMap((it) => it.rules).map((it) => [policyOf(it.writer), it]));
    for (const [name, other] of others) facts.push(...line("but not", [name + ": " + other.because + (other.writer.at ? " " : ""), ...(other.writer.at ? [html("code", {}, [other.writer.at])] : [])]));
    if (step + 1 < series.count) {
      const after = writerOf(series, step + 1), next = textOf(valueOf(series, step + 1));
      const go = html("button", { type: "button", class: "link" }, [clock.shown(to)]);
      go.addEventListener("click", () => actions.go(to));
      facts.push(...line("then", [next + " at ", go, after ? ", by " + policyOf(after) : ""]));
    }
    return html("div", { class: "step" }, [
      html("p", { class: "is" }, [html("strong", {}, [textOf(value)]), " ", html("span", { class: "quiet" }, [series.field])]), html("dl", {}, facts),
    ]);
  }

  function show(/** @type {Row} */ row, /** @type {number} */ time) {
    const parts = row.series.map((series) => of(series, time));
    const stories = row.series.filter((it) => it.story).map((it) => html("p", { class: "story" }, [(row.series.length > 1 ? it.field + ": " : "") + it.story]));
    const doubts = row.doubts.map((/** @type {any} */ it) => html("p", { class: "warning" }, ["⚠ " + (it.rule ? it.rule + " " : "") + it.told + " (" + it.advice + ")"]));
    for (const [told, isContested] of row.series.flatMap((it) => it.standsOut)) doubts.push(html("p", isContested ? { class: "warning" } : { class: "quiet" }, [(isContested ? "⚠ " : "~ ") + told]));
    const [first] = row.series;
    const rules = first && row.kind !== "units" ? first.styled.map((/** @type {any} */ it) => html("li", {}, [swatch(styleOfRule(first, it)), policyOf(it)])) : [];
    if (rules.length > 1) doubts.push(html("h3", {}, ["Rules"]), html("ul", { class: "rules" }, rules));
    const members = row.series.flatMap((it) => it.members);
    if (row.kind === "marks") {
      const next = row.marks.at(countBefore(row.marks, time));
      const label = next === undefined ? "last started a Job at" : "next starts a Job at";
      parts.push(html("dl", {}, line(label, [clock.shown(next ?? row.marks[row.count - 1])])));
    }
    const all = [html("h2", {}, [row.title]), html("p", { class: "quiet" }, ["at " + clock.shown(time)]), ...parts, ...stories, ...doubts];
    if (scale.length > 2 * WEEK) all.push(...row.series.filter((it) => it.count > 1).map((it) => weekOf(it, scale, clock)));
    if (members.length > 0) all.push(html("details", {}, [html("summary", {}, ["All " + members.length]), html("p", {}, [members.join(", ")])]));
    const link = html("a", { href: location.hash || "#" }, ["Link to this"]);
    body.replaceChildren(...all, html("p", {}, [link]));
    panel.hidden = false;
    document.body.classList.add("explained");
  }

  function hide() {
    panel.hidden = true;
    document.body.classList.remove("explained");
  }

  return { show, hide };
}
