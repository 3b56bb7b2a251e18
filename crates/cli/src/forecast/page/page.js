// Draws the forecast that stands in this page over a time axis that can be zoomed down to an hour:
// numbers as steps, texts as bands, names as thin rows, and the starts of CronJobs as marks. Times are shown by the offsets that came with the page, not by the browser's.
"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const element = (id) => document.getElementById(id);
  const forecast = read("forecast");
  const clock = read("clock");
  // Pods that always agree are one lane, drawn as the first of them.
  const lanes = new Map(), merged = new Set();
  for (const { title, series } of read("lanes")) {
    const members = series.map((index) => forecast.series[index]);
    lanes.set(members[0], { title, members });
    members.slice(1).forEach((it) => merged.add(it));
  }
  const all = forecast.series.filter((it) => !merged.has(it));
  const HOUR = 3600e3, DAY = 24 * HOUR;
  const offsets = clock.offsets.map((it) => ({ at: Date.parse(it.at), ms: it.offset * 1000 }));
  const whole = { from: Date.parse(forecast.from), to: Date.parse(forecast.to) };
  let view = { ...whole };
  let kept = null;

  for (const series of all) {
    for (const segment of series.segments) {
      segment.start = Date.parse(segment.from);
      segment.end = Date.parse(segment.to);
    }
    const names = series.segments.filter((it) => it.policy).map((it) => it.policy.name);
    series.writers = [...new Set(names)];
    series.blocks = drawn.blocks(series);
    const shown = series.blocks.flatMap((block) => block.stretches).map((it) => it.shown);
    // One scale for all names, so that they can be compared.
    series.highest = shown.reduce((most, it) => (typeof it === "number" ? Math.max(most, it) : most), 1);
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

  // Where there are several places, what is called the same is told apart by them.
  const shownTarget = (series) => lanes.get(series)?.title ??
    (series.place ? series.place + ": " : "") + called(series.target);
  const called = (object) => object.kind + " " + (object.namespace ? object.namespace + "/" : "") +
    object.name;
  const who = (segment) => segment.policy
    ? called(segment.policy) + (segment.policy.rule ? " " + segment.policy.rule : "")
    : "no policy yet";

  const TOP = 18, BASE = 88, BAND = 26, THIN = 20, LETTER = 8;
  const HEIGHTS = {
    number: () => BASE + 4,
    text: () => TOP + BAND + 8,
    names: (block) => TOP + THIN * block.rows.length + 6,
    starts: () => TOP + THIN + 6,
  };

  // The stretches of the time that is shown, with their ends on the canvas.
  function visible(stretches, scale) {
    const { at, width } = scale;
    const inView = stretches.filter((it) => it.end > view.from && it.start < view.to);
    return inView.map((stretch) => {
      const x = Math.max(at(stretch.start), -2), end = Math.min(at(stretch.end), width + 2);
      return { stretch, x, end, from: Math.max(x, 0), to: Math.min(end, width) };
    });
  }

  function shape(series, { stretch, x, end }, y, height) {
    const { policy } = stretch.segment;
    const other = policy && series.writers.indexOf(policy.name) % 2 === 1;
    const isSomething = stretch.shown !== null && stretch.shown !== drawn.NOTHING;
    const made = svg("rect", {
      class: !isSomething ? "unknown" : other ? "other" : "bar",
      x, y, width: Math.max(end - x, 1), height, tabindex: -1,
    });
    made.stretch = stretch;
    if (stretch === kept) made.classList.add("kept");
    return made;
  }

  const middled = (x, y, label) => svg("text", { x, y, "text-anchor": "middle" }, label);

  function steps(series, block, scale) {
    let labelled = -Infinity;
    return visible(block.stretches, scale).flatMap((it) => {
      const { shown } = it.stretch;
      const share = typeof shown === "number" ? shown / series.highest : shown === null ? 0.5 : 0;
      const height = Math.max(share * (BASE - TOP - 14), 2);
      const step = shape(series, it, BASE - height, height);
      const label = shown === null ? "?" : drawn.said(shown);
      // What does not fit into its step stands above it.
      const middle = (it.from + it.to) / 2, half = 4 * label.length + 2;
      if (it.to - it.from <= 6 || middle - half < labelled) return [step];
      labelled = middle + half;
      const fits = it.to - it.from > 2 * half && height >= 18;
      return [step, middled(middle, BASE - height + (fits ? 14 : -4), label)];
    });
  }

  function bands(series, block, scale) {
    const texts = [...new Set(block.stretches.map((it) => it.shown))].filter((it) => typeof it === "string").sort();
    return visible(block.stretches, scale).flatMap((it) => {
      const band = shape(series, it, TOP, BAND);
      const place = texts.indexOf(it.stretch.shown);
      if (place >= 0) band.setAttribute("fill-opacity", 0.4 + (0.6 * (place + 1)) / texts.length);
      const label = drawn.said(it.stretch.shown), room = Math.floor((it.to - it.from - 6) / LETTER);
      // One or two letters tell nothing.
      if (room < Math.min(label.length, 4)) return [band];
      return [band, middled((it.from + it.to) / 2, TOP + 17, drawn.shortened(label, room))];
    });
  }

  function thinRows(series, block, scale) {
    return block.rows.flatMap((row, index) => {
      const y = TOP + THIN * index;
      const label = drawn.shortened(drawn.said(row[0].shown), Math.floor(scale.width / LETTER));
      const shapes = visible(row, scale).map((it) => shape(series, it, y, THIN - 4));
      return [...shapes, svg("text", { x: 4, y: y + 12 }, label)];
    });
  }

  // Starts that are closer than they can be drawn are one mark.
  function starts(job, _block, { at }) {
    const together = [];
    for (const time of job.times.filter((it) => it >= view.from && it < view.to)) {
      const last = together.at(-1);
      if (last && at(time) - at(last.end) < 3) Object.assign(last, { end: time, count: last.count + 1 });
      else together.push({ start: time, end: time, count: 1 });
    }
    return together.map(({ start, end, count }) => {
      const made = svg("rect", { class: "bar", x: at(start) - 1, y: TOP, width: at(end) - at(start) + 2,
        height: THIN - 4, tabindex: -1 });
      const shown = count === 1 ? "starts a Job" : `starts ${count} Jobs`;
      made.stretch = { start, end, shown, segment: { policy: job.object, reason: "" } };
      return made;
    });
  }

  const KINDS = { number: steps, text: bands, names: thinRows, starts };
  function draw({ series, block, canvas }) {
    const width = canvas.clientWidth || 1000, height = HEIGHTS[block.kind](block);
    canvas.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const at = (time) => ((time - view.from) / (view.to - view.from)) * width;
    const lines = marks(width).flatMap((mark) => [
      svg("line", { class: "mark", x1: at(mark.time), x2: at(mark.time), y1: 0, y2: height - 4 }),
      svg("text", { class: "label", x: at(mark.time) + 3, y: 11 }, mark.label),
    ]);
    canvas.replaceChildren(...lines, ...KINDS[block.kind](series, block, { at, width }));
  }

  const tip = element("tip");
  function tell({ start, end, shown: value, name, segment }, x, y) {
    const label = drawn.shortened((name === undefined ? "" : name + " ") + drawn.said(value), 200);
    tip.replaceChildren(
      html("b", label),
      html("div", shown(start) + (end > start ? " to " + shown(end) : "")),
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
    const title = html("h2", shownTarget(series) + " ");
    title.append(html("small", series.field));
    section.append(title);
    if (series.writers.length > 1) {
      section.append(html("p", "set by " + series.writers.length + " policies: " +
        series.writers.join(", "), "warning"));
    }
    const canvases = series.blocks.map((block) => {
      const name = block.name === undefined ? [] : [block.name];
      const label = [shownTarget(series), series.field, ...name].join(" ");
      const canvas = svg("svg", { role: "img", "aria-label": label });
      canvas.style.height = HEIGHTS[block.kind](block) + "px";
      section.append(...name.map((it) => html("h3", it)), canvas);
      return { series, block, canvas };
    });
    section.append(table(series));
    const { members } = lanes.get(series) ?? { members: [series] };
    if (members.length > 1) section.append(list(members));
    element("rows").append(section);
    const named = members.map((it) => called(it.target));
    const names = [shownTarget(series), series.field, ...series.writers, ...named].join(" ").toLowerCase();
    return { series, canvases, section, names };
  }

  function buildJob(job) {
    const section = html("section");
    const name = (job.place ? job.place + ": " : "") + called(job.object);
    const title = html("h2", name + " ");
    title.append(html("small", "starts"));
    const canvas = svg("svg", { role: "img", "aria-label": name + " starts" });
    const block = { kind: "starts" };
    canvas.style.height = HEIGHTS.starts() + "px";
    section.append(title, canvas);
    element("rows").append(section);
    return { canvases: [{ series: job, block, canvas }], section, names: (name + " starts").toLowerCase() };
  }

  // The CronJobs that start something, each with the times at which it does.
  function jobs() {
    const all = new Map();
    for (const { at, object, place } of forecast.occurrences ?? []) {
      const key = JSON.stringify([place, object]);
      if (!all.has(key)) all.set(key, { object, place, times: [] });
      all.get(key).times.push(Date.parse(at));
    }
    return [...all.values()];
  }

  // The names of the pods of a lane, made when they are asked for.
  function list(members) {
    const details = html("details");
    details.append(html("summary", "Its pods"));
    details.addEventListener("toggle", () => {
      details.querySelector("p")?.remove();
      if (!details.open) return;
      const names = members.slice(0, 500).map((it) => it.target.name);
      const more = members.length - names.length;
      details.append(html("p", names.join(", ") + (more > 0 ? ` and ${more} more` : "")));
    });
    return details;
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
        const cells = [shown(it.start), shown(it.end), drawn.said(it.value), who(it), it.reason];
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
    const rule = (it) => (it.place ? it.place + ": " : "") + it.policy.namespace + "/" +
      it.policy.name + (it.rule ? " " + it.rule : "") + ": in " + it.zone + ", " + it.note;
    list("Clock changes", forecast.clockChanges.map(rule), "quiet");
    list("Assumptions", forecast.assumptions, "quiet");
    footer.append(html("p", "tzdata " + forecast.tzdata, "quiet"));
    if (rows.length === 0) element("rows").append(html("p", "Nothing to forecast."));
  }

  const rows = [...all.map(build), ...jobs().map(buildJob)];
  notes();

  let asked = false;
  function refresh() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      element("span").textContent = shown(view.from) + " to " + shown(view.to) + (clock.zone === "UTC" ? "" : " (" + clock.zone + ")");
      for (const row of rows) if (!row.section.hidden) row.canvases.forEach(draw);
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
    const { stretch } = event.target;
    if (stretch) tell(stretch, event.clientX, event.clientY);
    else tip.hidden = true;
  });
  main.addEventListener("click", (event) => {
    const { stretch } = event.target;
    kept = stretch && stretch !== kept ? stretch : null;
    if (kept) tell(kept, event.clientX, event.clientY); else tip.hidden = true;
    refresh();
  });
  element("filter").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    for (const { section, names } of rows) section.hidden = !names.includes(wanted);
    refresh();
  });
  addEventListener("resize", refresh);
  refresh();
})();
