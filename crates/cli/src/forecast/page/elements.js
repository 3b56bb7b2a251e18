// Elements of the document, and text that fits.

const SVG = "http://www.w3.org/2000/svg";

/** @returns {SVGElement} */
export function svg(/** @type {string} */ name, /** @type {Record<string, string|number>} */ attributes = {}, /** @type {(Node|string)[]} */ children = []) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/** @returns {any} */
export function html(/** @type {string} */ name, /** @type {Record<string, string|number>} */ attributes = {}, /** @type {(Node|string)[]} */ children = []) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/** @returns {any} */
export const element = (/** @type {string} */ id) => document.getElementById(id);

/** Its middle is cut out, because names differ at their ends. */
export function shortened(/** @type {string} */ label, /** @type {number} */ most) {
  const letters = [...label];
  if (letters.length <= most) return label;
  const kept = Math.max(most - 1, 0), tail = Math.floor(kept / 2);
  return letters.slice(0, kept - tail).join("") + "…" + letters.slice(letters.length - tail).join("");
}
