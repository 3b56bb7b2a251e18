// The period in view, and the positions of instants in it.
import { MINUTE } from "./clock.js";

const SHORTEST = 5 * MINUTE;

/** @param {{from: number, to: number}} whole */
export function createScale(whole) {
  const scale = {
    whole, from: whole.from, to: whole.to, width: 800,
    get length() { return scale.to - scale.from; },
    get isWhole() { return scale.from === whole.from && scale.to === whole.to; },
    x: (/** @type {number} */ time) => ((time - scale.from) / (scale.to - scale.from)) * scale.width,
    time: (/** @type {number} */ x) => scale.from + (x / scale.width) * (scale.to - scale.from),
    // Shows this much time from an instant on, within the period.
    look(/** @type {number} */ from, /** @type {number} */ length) {
      const span = Math.min(Math.max(length, SHORTEST), whole.to - whole.from);
      scale.from = Math.min(Math.max(from, whole.from), whole.to - span);
      scale.to = scale.from + span;
    },
    // The instant at this share of the view keeps its position.
    zoom(/** @type {number} */ factor, /** @type {number} */ share) {
      const span = Math.max(scale.length * factor, SHORTEST);
      scale.look(scale.from + (scale.length - span) * share, span);
    },
    move(/** @type {number} */ share) { scale.look(scale.from + scale.length * share, scale.length); },
    // Moves the view to include an instant.
    reveal(/** @type {number} */ time) {
      if (time < scale.from || time >= scale.to) scale.look(time - scale.length / 4, scale.length);
    },
  };
  return scale;
}

/** @typedef {ReturnType<typeof createScale>} Scale */
