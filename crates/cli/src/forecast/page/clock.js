// The civil time of the displayed zone, by the offsets in the page and not by the browser's.

export const MINUTE = 60e3, HOUR = 3600e3, DAY = 24 * HOUR, WEEK = 7 * DAY;
export const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (/** @type {number} */ number) => String(number).padStart(2, "0");

/**
 * @typedef {{date: Date, weekday: number, day: number, month: string, year: number, time: string}} Wall
 * A civil time; Monday is 0, and `date` has the civil time in its fields for UTC.
 */

/**
 * @param {string} zone
 * @param {[number, number][]} offsets When each begins, and by how many seconds the clock is ahead of UTC.
 */
export function createClock(zone, offsets) {
  const offsetAt = (/** @type {number} */ time) => {
    let found = offsets[0][1];
    for (const [at, seconds] of offsets) if (at <= time) found = seconds;
    return found * 1000;
  };

  /** @returns {Wall} */
  function wall(/** @type {number} */ time) {
    const date = new Date(time + offsetAt(time));
    return {
      date, weekday: (date.getUTCDay() + 6) % 7, day: date.getUTCDate(), month: MONTHS[date.getUTCMonth()],
      year: date.getUTCFullYear(), time: two(date.getUTCHours()) + ":" + two(date.getUTCMinutes()),
    };
  }

  // The instant of a civil time. For a civil time in a gap, the instant of the clock change.
  function instant(/** @type {number} */ civil) {
    const first = civil - offsetAt(civil);
    const then = civil - offsetAt(first);
    const jump = offsets.find(([at], index) => {
      if (index === 0) return false;
      const before = at + offsets[index - 1][1] * 1000, after = at + offsets[index][1] * 1000;
      return civil >= before && civil < after;
    });
    return jump ? jump[0] : then;
  }

  const civil = (/** @type {number} */ time) => time + offsetAt(time);

  function offset(/** @type {number} */ time) {
    const seconds = offsetAt(time) / 1000;
    if (zone === "UTC") return "UTC";
    const minutes = Math.floor(Math.abs(seconds) / 60);
    const rest = Math.abs(seconds) % 60 ? ":" + two(Math.abs(seconds) % 60) : "";
    return (seconds < 0 ? "-" : "+") + two(Math.floor(minutes / 60)) + ":" + two(minutes % 60) + rest;
  }

  // `Fri 2026-11-27 17:00 +01:00`
  function shown(/** @type {number} */ time) {
    const it = wall(time);
    const date = String(it.year).padStart(4, "0") + "-" + two(it.date.getUTCMonth() + 1) + "-" + two(it.day);
    const seconds = it.date.getUTCSeconds() ? ":" + two(it.date.getUTCSeconds()) : "";
    return WEEKDAYS[it.weekday] + " " + date + " " + it.time + seconds + " " + offset(time);
  }

  // The midnights from the one before `from` up to `to`, with their days of the week.
  function midnights(/** @type {number} */ from, /** @type {number} */ to) {
    const found = [];
    const first = Math.floor(civil(from) / DAY) * DAY;
    for (let day = first; ; day += DAY) {
      const at = instant(day);
      if (at >= to) return found;
      found.push({ at, next: instant(day + DAY), weekday: (new Date(day).getUTCDay() + 6) % 7, civil: day });
    }
  }

  return { zone, offsets, offsetAt, wall, instant, civil, offset, shown, midnights };
}

// `2 d 3 h`, `45 min`, `10 s`
export function lasting(/** @type {number} */ length) {
  const parts = [];
  for (const [unit, name] of /** @type {[number, string][]} */ ([[DAY, "d"], [HOUR, "h"], [MINUTE, "min"], [1000, "s"]])) {
    const count = Math.floor(length / unit);
    if (count > 0 && parts.length < 2) parts.push(count + " " + name);
    length -= count * unit;
  }
  return parts.join(" ") || "less than 1 s";
}

/** @typedef {ReturnType<typeof createClock>} Clock */
