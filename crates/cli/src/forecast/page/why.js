// Why a row is what it is at an instant: its value, since and until when, who has set it, where that is written, and
// what comes next.
import { WEEK, lasting } from "./clock.js";
import { endOf, policyOf, said, stepAt, writerOf } from "./data.js";
import { element, html } from "./elements.js";
import { weekOf } from "./week.js";

export function createWhy(/** @type {any} */ scale, /** @type {any} */ clock, /** @type {{go: (time: number) => void, close: () => void}} */ actions) {
  const panel = element("why"), body = element("why-body");
  element("why-close").addEventListener("click", actions.close);

  const line = (/** @type {string} */ name, /** @type {(Node|string)[]} */ value) => [html("dt", {}, [name]), html("dd", {}, value)];

  function of(/** @type {any} */ series, /** @type {number} */ time) {
    const step = stepAt(series, time), from = series.starts[step], to = endOf(series, step);
    const writer = writerOf(series, step);
    const value = series.values[series.value[step]];
    const facts = [
      ...line("since", [clock.shown(from) + (step === 0 ? " (the forecast begins)" : "")]),
      ...line("until", [clock.shown(to) + (step + 1 < series.count ? "" : " (the forecast ends)") + ", " + lasting(to - from)]),
      ...line("because", [series.origins[series.origin[step]].reason]),
    ];
    if (writer) facts.push(...line("set by", [policyOf(writer)]));
    if (writer?.at) facts.push(...line("written in", [html("code", {}, [writer.at])]));
    if (step + 1 < series.count) {
      const after = writerOf(series, step + 1), next = said(series.values[series.value[step + 1]]);
      const go = html("button", { type: "button", class: "link" }, [clock.shown(to)]);
      go.addEventListener("click", () => actions.go(to));
      facts.push(...line("then", [next + " at ", go, after ? ", by " + policyOf(after) : ""]));
    }
    return html("div", { class: "step" }, [
      html("p", { class: "is" }, [html("strong", {}, [said(value)]), " ", html("span", { class: "quiet" }, [series.field])]), html("dl", {}, facts),
    ]);
  }

  function show(/** @type {any} */ row, /** @type {number} */ time) {
    const parts = row.series.map((/** @type {any} */ series) => of(series, time));
    const stories = row.series.filter((/** @type {any} */ it) => it.story).map((/** @type {any} */ it) => html("p", { class: "story" }, [(row.series.length > 1 ? it.field + ": " : "") + it.story]));
    const doubts = row.doubts.map((/** @type {any} */ it) => html("p", { class: "warning" }, ["⚠ " + (it.rule ? it.rule + " " : "") + it.told + " (" + it.advice + ")"]));
    const members = row.series.flatMap((/** @type {any} */ it) => it.members);
    if (row.kind === "marks") {
      const next = row.marks.find((/** @type {number} */ at) => at >= time);
      const said = next === undefined ? "last started a Job at" : "next starts a Job at";
      parts.push(html("dl", {}, line(said, [clock.shown(next ?? row.marks.at(-1))])));
    }
    const all = [html("h2", {}, [row.title]), html("p", { class: "quiet" }, ["at " + clock.shown(time)]), ...parts, ...stories, ...doubts];
    if (scale.length > 2 * WEEK) all.push(...row.series.filter((/** @type {any} */ it) => it.count > 1).map((/** @type {any} */ it) => weekOf(it, scale, clock)));
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
