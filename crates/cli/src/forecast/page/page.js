// Draws the forecast that stands in this page: rows of steps over a time axis that can be zoomed
// down to an hour. Times are shown by the offsets that came with the page, not by the browser's.
"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const element = (id) => document.getElementById(id);
  const forecast = read("forecast");
  const clock = read("clock");
  const HOUR = 3600e3, DAY = 24 * HOUR;
  const offsets = clock.offsets.map((it) => ({ at: Date.parse(it.at), ms: it.offset * 1000 }));
  const whole = { from: Date.parse(forecast.from), to: Date.parse(forecast.to) };
  let view = { ...whole };
  let kept = null;

  for (const series of forecast.series) {
    for (const segment of series.segments) {
      segment.start = Date.parse(segment.from);
      segment.end = Date.parse(segment.to);
    }
    const names = series.segments.filter((it) => it.policy).map((it) => it.policy.name);
    series.writers = [...new Set(names)];
    series.highest = series.segments.reduce((most, it) => Math.max(most, it.value ?? 0), 1);
  }

  function offsetAt(time) {
    let found = offsets[0].ms;
    for (const offset of offsets) if (offset.at <= time) found = offset.ms;
    return found;
  }

  const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
  const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const two = (number) => String(number).padStart(2, "0");

  function wall(time) {
    const date = new Date(time + offsetAt(time));
    return {
      date, weekday: WEEKDAYS[date.getUTCDay()], day: date.getUTCDate(),
      month: MONTHS[date.getUTCMonth()], year: date.getUTCFullYear(),
      time: two(date.getUTCHours()) + ":" + two(date.getUTCMinutes()),
    };
  }

  function shown(time) {
    const it = wall(time);
    const minutes = offsetAt(time) / 60e3;
    const sign = minutes < 0 ? "-" : "+";
    const hours = two(Math.floor(Math.abs(minutes) / 60));
    const offset = minutes === 0 ? "UTC" : sign + hours + ":" + two(Math.abs(minutes) % 60);
    const date = it.year + "-" + two(it.date.getUTCMonth() + 1) + "-" + two(it.day);
    return it.weekday + " " + date + " " + it.time + " " + offset;
  }

  // The marks of the axis: round times of the wall clock, as close as the labels let them be.
  const STEPS = [5 / 60, 0.25, 0.5, 1, 3, 6, 12, 24, 168].map((hours) => hours * HOUR);

  function marks(width) {
    const length = view.to - view.from;
    const step = STEPS.find((step) => (width * step) / length > 62);
    return step === undefined ? monthMarks(width, length) : evenMarks(step);
  }

  function evenMarks(step) {
    const found = [];
    // Weeks begin on Mondays; the epoch was a Thursday.
    const shift = step === 7 * DAY ? 4 * DAY : 0;
    const first = view.from + offsetAt(view.from) - shift;
    for (let civil = Math.ceil(first / step) * step + shift; ; civil += step) {
      let time = civil - offsetAt(civil);
      time = civil - offsetAt(time);
      if (time >= view.to) return found;
      const it = wall(time);
      const label = step < DAY && it.time !== "00:00" ? it.time : it.weekday + " " + it.day;
      found.push({ time, label: step > DAY ? it.day + " " + it.month : label });
    }
  }

  function monthMarks(width, length) {
    const found = [];
    const every = [1, 3, 12, 60].find((n) => (width * n * 30.4 * DAY) / length > 62) ?? 600;
    const start = wall(view.from);
    for (let n = 0; n < 1200; n += 1) {
      const civil = Date.UTC(start.year, start.date.getUTCMonth() + n, 1);
      const time = civil - offsetAt(civil);
      if (time >= view.to) break;
      const it = wall(time + HOUR);
      const month = it.date.getUTCMonth() + 12 * it.year;
      if (time < view.from || month % every !== 0) continue;
      found.push({ time, label: every >= 12 ? String(it.year) : it.month + " " + it.year });
    }
    return found;
  }

  const SVG = "http://www.w3.org/2000/svg";
  function svg(name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function html(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  const called = (object) => object.kind + " " + (object.namespace ? object.namespace + "/" : "") +
    object.name;
  const who = (segment) => segment.policy
    ? called(segment.policy) + (segment.policy.rule ? " " + segment.policy.rule : "")
    : "nobody yet";

  const TOP = 18, BASE = 88;
  function draw(row) {
    const { series, canvas } = row;
    const width = canvas.clientWidth || 1000;
    canvas.setAttribute("viewBox", `0 0 ${width} 92`);
    const at = (time) => ((time - view.from) / (view.to - view.from)) * width;
    const parts = marks(width).flatMap((mark) => [
      svg("line", { class: "mark", x1: at(mark.time), x2: at(mark.time), y1: 0, y2: BASE }),
      svg("text", { class: "label", x: at(mark.time) + 3, y: 11 }, mark.label),
    ]);
    let labelled = -Infinity;
    let firstVisible = series.segments.findIndex((it) => it.end > view.from);
    if (firstVisible < 0) firstVisible = series.segments.length;
    for (let index = firstVisible; index < series.segments.length; index += 1) {
      const segment = series.segments[index];
      if (segment.start >= view.to) break;
      const x = Math.max(at(segment.start), -2), end = Math.min(at(segment.end), width + 2);
      const unknown = segment.value === null;
      const share = unknown ? 0.5 : segment.value / series.highest;
      const height = Math.max(share * (BASE - TOP - 14), 2);
      const other = segment.policy && series.writers.indexOf(segment.policy.name) % 2 === 1;
      const step = svg("rect", {
        class: unknown ? "unknown" : other ? "other" : "bar",
        x, y: BASE - height, width: Math.max(end - x, 1), height, tabindex: -1,
      });
      step.segment = segment;
      if (segment === kept) step.classList.add("kept");
      parts.push(step);
      const label = unknown ? "?" : String(segment.value);
      const from = Math.max(x, 0), to = Math.min(end, width);
      // What does not fit into its step stands above it.
      const middle = (from + to) / 2, half = 4 * label.length + 2;
      if (to - from > 6 && middle - half >= labelled) {
        labelled = middle + half;
        const fits = to - from > 2 * half && height >= 18;
        const y = BASE - height + (fits ? 14 : -4);
        parts.push(svg("text", { x: middle, y, "text-anchor": "middle" }, label));
      }
    }
    canvas.replaceChildren(...parts);
  }

  const tip = element("tip");
  function tell(segment, x, y) {
    tip.replaceChildren(
      html("b", segment.value === null ? "unknown" : String(segment.value)),
      html("div", shown(segment.start) + " to " + shown(segment.end)),
      html("div", who(segment)),
      html("div", segment.reason),
    );
    tip.hidden = false;
    const left = Math.min(x + 14, innerWidth - tip.offsetWidth - 8);
    const below = y + 18 + tip.offsetHeight < innerHeight;
    tip.style.left = Math.max(left, 8) + "px";
    tip.style.top = (below ? y + 18 : y - tip.offsetHeight - 10) + "px";
  }

  function build(series) {
    const section = html("section");
    const title = html("h2", called(series.target) + " ");
    title.append(html("small", series.field));
    const canvas = svg("svg", { role: "img", "aria-label": called(series.target) + " " + series.field });
    section.append(title);
    if (series.writers.length > 1) {
      section.append(html("p", series.writers.length + " policies write it: " +
        series.writers.join(", "), "warning"));
    }
    section.append(canvas, table(series));
    element("rows").append(section);
    return { series, canvas, section };
  }

  // The same in words, made when it is asked for: the steps of the time that is shown.
  function table(series) {
    const details = html("details");
    details.append(html("summary", "As a table"));
    details.addEventListener("toggle", () => {
      details.querySelector("table")?.remove();
      if (!details.open) return;
      const made = html("table");
      const head = html("tr");
      for (const title of ["from", "to", series.field, "set by", "because"]) head.append(html("th", title));
      made.append(head);
      for (const it of series.segments.filter((it) => it.end > view.from && it.start < view.to).slice(0, 500)) {
        const line = html("tr");
        const cells = [shown(it.start), shown(it.end), it.value ?? "unknown", who(it), it.reason];
        for (const cell of cells) line.append(html("td", cell));
        made.append(line);
      }
      details.append(made);
    });
    return details;
  }

  function notes() {
    const footer = element("notes");
    const list = (title, lines, className) => {
      if (lines.length === 0) return;
      footer.append(html("h2", title));
      for (const line of lines) footer.append(html("p", line, className));
    };
    list("Findings", forecast.findings.map((it) => `${it.severity} ${it.file}:${it.line} ` +
      (it.field ? it.field + ": " : "") + it.message), "warning");
    list("Taken for granted", forecast.assumptions, "quiet");
    footer.append(html("p", "tzdata " + forecast.tzdata, "quiet"));
    if (forecast.series.length === 0) element("rows").append(html("p", "Nothing to forecast."));
  }

  const rows = forecast.series.map(build);
  notes();

  let asked = false;
  function refresh() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      element("span").textContent = shown(view.from) + " to " + shown(view.to) + (clock.zone === "UTC" ? "" : " (" + clock.zone + ")");
      for (const row of rows) if (!row.section.hidden) draw(row);
    });
  }

  function look(from, length) {
    const whole_length = whole.to - whole.from;
    const span = Math.min(Math.max(length, Math.min(HOUR, whole_length)), whole_length);
    const start = Math.min(Math.max(from, whole.from), whole.to - span);
    view = { from: start, to: start + span };
    refresh();
  }
  function zoom(factor, share) {
    const length = view.to - view.from;
    const span = Math.max(length * factor, HOUR);
    look(view.from + (length - span) * share, span);
  }
  const move = (share) => look(view.from + (view.to - view.from) * share, view.to - view.from);
  const actions = {
    closer: () => zoom(0.5, 0.5), wider: () => zoom(2, 0.5), earlier: () => move(-0.25),
    later: () => move(0.25), whole: () => look(whole.from, whole.to - whole.from),
  };
  for (const [id, action] of Object.entries(actions)) element(id).addEventListener("click", action);
  const keys = { "+": "closer", "=": "closer", "-": "wider", ArrowLeft: "earlier", ArrowRight: "later", 0: "whole" };
  addEventListener("keydown", (event) => {
    if (event.target.tagName !== "INPUT" && keys[event.key]) actions[keys[event.key]]();
    if (event.key === "Escape") { kept = null; tip.hidden = true; refresh(); }
  });

  const main = element("rows");
  let dragged = null;
  const share = (event, canvas) => (event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth;
  main.addEventListener("wheel", (event) => {
    const canvas = event.target.closest("svg");
    if (!canvas || event.shiftKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, share(event, canvas));
  }, { passive: false });
  main.addEventListener("pointerdown", (event) => {
    const canvas = event.target.closest("svg");
    if (canvas) dragged = { x: event.clientX, from: view.from, width: canvas.clientWidth };
  });
  addEventListener("pointerup", () => { dragged = null; });
  addEventListener("pointermove", (event) => {
    if (dragged && event.buttons) {
      const length = view.to - view.from;
      look(dragged.from - ((event.clientX - dragged.x) / dragged.width) * length, length);
      return;
    }
    if (kept) return;
    const segment = event.target.segment;
    if (segment) tell(segment, event.clientX, event.clientY);
    else tip.hidden = true;
  });
  main.addEventListener("click", (event) => {
    const segment = event.target.segment;
    kept = segment && segment !== kept ? segment : null;
    if (kept) tell(kept, event.clientX, event.clientY); else tip.hidden = true;
    refresh();
  });
  element("filter").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    for (const { series, section } of rows) {
      const names = [called(series.target), series.field, ...series.writers].join(" ").toLowerCase();
      section.hidden = !names.includes(wanted);
    }
    refresh();
  });
  addEventListener("resize", refresh);
  refresh();
})();
