/** Numbers as people read them. A number that is not there is a dash. */

const NONE = "–";
const THIN_SPACE = "\u202f";
const MINUS = "\u2212";

/**
 * A number with so many significant digits: 0.2861, 33.5, 1 200 000, 3.1e−9.
 * @param {number | null | undefined} value
 * @param {number} [digits]
 */
export function number(value, digits = 3) {
  if (!isNumber(value)) return NONE;
  if (value === 0) return "0";
  if (isExtreme(value)) return signed(value.toExponential(digits - 1).replace("e+", "e"));
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
  return grouped(value.toFixed(Math.min(decimals, 6)));
}

/**
 * A number on an axis: without zeros at its end.
 * @param {number} value
 */
export function tick(value) {
  if (isExtreme(value)) return signed(value.toExponential().replace("e+", "e"));
  return grouped(String(Number(value.toPrecision(6))));
}

/**
 * A fixed number of decimals, so that a figure that changes does not jump.
 * @param {number | null | undefined} value
 * @param {number} decimals
 */
export function fixed(value, decimals) {
  return isNumber(value) ? grouped(value.toFixed(decimals)) : NONE;
}

/**
 * A count: 17 552.
 * @param {number | null | undefined} value
 */
export function count(value) {
  return isNumber(value) ? grouped(String(Math.round(value))) : NONE;
}

/**
 * An amount of data in powers of a thousand: 17.6 MB.
 * @param {number | null | undefined} value
 */
export function bytes(value) {
  if (!isNumber(value)) return NONE;
  const units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
  const rank = value < 1000 ? 0 : Math.min(5, Math.floor(Math.log10(value) / 3 + 1e-9));
  const amount = Number((value / 1000 ** rank).toPrecision(3));
  return `${tick(amount)} ${units[rank]}`;
}

/**
 * A time on the clock of an epoch: 1:07.5.
 * @param {number} seconds
 */
export function clock(seconds) {
  const tenths = Math.round(seconds * 10);
  const rest = tenths % 600;
  return `${(tenths - rest) / 600}:${String(Math.floor(rest / 10)).padStart(2, "0")}.${rest % 10}`;
}

/**
 * Day and time of an ISO date, here: 18 Nov 2026, 14:02:33. What is no date is shown as it is.
 * @param {string} text
 */
export function dateAndTime(text) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  return date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}

/**
 * A count with its noun: 1 link, 13 links.
 * @param {number} amount
 * @param {string} noun
 */
export function plural(amount, noun) {
  const word = amount === 1 ? noun : /(x|ch|s)$/.test(noun) ? `${noun}es` : `${noun}s`;
  return `${count(amount)} ${word}`;
}

/**
 * @param {unknown} value
 * @returns {value is number}
 */
export function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

/** @param {number} value */
function isExtreme(value) {
  return value !== 0 && (Math.abs(value) >= 1e7 || Math.abs(value) < 1e-3);
}

/** @param {string} text */
function grouped(text) {
  const [whole, fraction] = text.split(".");
  // Four digits read well without a gap.
  const long = whole.replace("-", "").length > 4;
  const spaced = long ? whole.replace(/\B(?=(\d{3})+$)/g, THIN_SPACE) : whole;
  return signed(fraction ? `${spaced}.${fraction}` : spaced);
}

/** @param {string} text */
function signed(text) {
  return text.replaceAll("-", MINUS);
}
