// What of a series is drawn: blocks, each with what it shows over time. A number, a text and a list
// of names are one block; numbers by name are a block a name. `drawn.rs` decides the same for the
// other outputs. Knows nothing of pictures.
"use strict";
const drawn = (() => {
  // A list of nothing, or a name without a number. What nobody knows is null.
  const NOTHING = Symbol("none");

  const isByName = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const inOrder = (names) => [...new Set(names)].sort();

  function shown(value, name) {
    if (isByName(value)) return name !== undefined && Object.hasOwn(value, name) ? value[name] : NOTHING;
    return Array.isArray(value) && value.length === 0 ? NOTHING : value;
  }

  function isAlike(one, other) {
    if (Array.isArray(one) && Array.isArray(other)) {
      return one.length === other.length && one.every((name, index) => name === other[index]);
    }
    return one === other;
  }

  const writer = (segment) => JSON.stringify(segment.policy ?? null);

  // Neighbours that touch, show the same and have the same writer are one.
  function joined(stretches) {
    const all = [];
    for (const it of stretches) {
      const last = all.at(-1);
      const goesOn = last && last.end === it.start && isAlike(last.shown, it.shown) &&
        (last.segment === it.segment || writer(last.segment) === writer(it.segment));
      if (goesOn) last.end = it.end;
      else all.push(it);
    }
    return all;
  }

  function block(series, name) {
    const stretches = joined(series.segments.map((segment) => ({
      start: segment.start, end: segment.end, shown: shown(segment.value, name), name, segment,
    })));
    const kinds = stretches.map(({ shown }) =>
      Array.isArray(shown) ? "names" : typeof shown === "string" ? "text" : typeof shown === "number" ? "number" : null);
    const made = { name, stretches, kind: kinds.find((kind) => kind !== null) ?? "number" };
    if (made.kind === "names") made.rows = rows(stretches);
    return made;
  }

  // Lists as rows: one a name, then one each for what is nothing and what is unknown, if any.
  function rows(stretches) {
    const names = inOrder(stretches.flatMap((it) => (Array.isArray(it.shown) ? it.shown : [])));
    const sets = new Map(stretches.map((it) => [it, Array.isArray(it.shown) ? new Set(it.shown) : null]));
    const isIn = (it, shown) => sets.get(it) === null ? it.shown === shown : sets.get(it).has(shown);
    return [...names, NOTHING, null]
      .map((shown) => joined(stretches.filter((it) => isIn(it, shown)).map((it) => ({ ...it, shown }))))
      .filter((row) => row.length > 0);
  }

  function blocks(series) {
    const names = inOrder(series.segments.flatMap((it) => (isByName(it.value) ? Object.keys(it.value) : [])));
    return names.length === 0 ? [block(series)] : names.map((name) => block(series, name));
  }

  function said(shown) {
    if (shown === null) return "unknown";
    if (shown === NOTHING) return "none";
    if (Array.isArray(shown)) return shown.join(", ") || "none";
    if (isByName(shown)) return inOrder(Object.keys(shown)).map((name) => name + " " + shown[name]).join(", ") || "none";
    return String(shown);
  }

  // Its middle is cut out, because names differ at their ends.
  function shortened(label, most) {
    const letters = [...label];
    if (letters.length <= most) return label;
    const kept = Math.max(most - 1, 0), tail = Math.floor(kept / 2);
    return letters.slice(0, kept - tail).join("") + "…" + letters.slice(letters.length - tail).join("");
  }

  return { NOTHING, blocks, said, shortened };
})();
