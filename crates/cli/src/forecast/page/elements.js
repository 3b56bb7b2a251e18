// Elements of the document, and text that fits.

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Record<string, string|number>} Attributes */

function filled(/** @type {any} */ made, /** @type {Attributes} */ attributes, /** @type {(Node|string)[]} */ children) {
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/** @returns {SVGElement} */
export const svg = (/** @type {string} */ name, /** @type {Attributes} */ attributes = {}, /** @type {(Node|string)[]} */ children = []) =>
  filled(document.createElementNS(SVG, name), attributes, children);

/** @returns {any} */
export const html = (/** @type {string} */ name, /** @type {Attributes} */ attributes = {}, /** @type {(Node|string)[]} */ children = []) =>
  filled(document.createElement(name), attributes, children);

/** A swatch in the style of a rule. */
export const swatch = (/** @type {string} */ style) =>
  svg("svg", { class: "swatch", viewBox: "0 0 22 12", "aria-hidden": "true" }, [svg("rect", { class: style, x: 0.5, y: 0.5, width: 21, height: 11 })]);

/** A text in a drawing. */
export const written = (/** @type {string} */ text, /** @type {Attributes} */ attributes) => svg("text", { class: "value", ...attributes }, [text]);

/** A line from the top to the bottom. */
export const upright = (/** @type {string} */ name, /** @type {number} */ x, /** @type {number|string} */ y1, /** @type {number|string} */ y2) =>
  svg("line", { class: name, x1: x, x2: x, y1, y2 });

export const on = (/** @type {string} */ id, /** @type {string} */ event, /** @type {(event: any) => void} */ action) => element(id).addEventListener(event, action);

/** @returns {any} */
export const element = (/** @type {string} */ id) => document.getElementById(id);

/** Removes the middle of a long name, because names differ at their ends. */
export function shortened(/** @type {string} */ label, /** @type {number} */ most) {
  const letters = [...label];
  if (letters.length <= most) return label;
  const kept = Math.max(most - 1, 0), tail = Math.floor(kept / 2);
  return letters.slice(0, kept - tail).join("") + "…" + letters.slice(letters.length - tail).join("");
}
