/** Labels beside vehicles that stay readable where vehicles are close. */

/** @import { Pixel } from "../core/painter.js" */

/**
 * @typedef {object} Wish A label that somebody wants.
 * @property {string} words
 * @property {number} width In pixels.
 * @property {number} rank Who has a higher one is asked first.
 * @property {Pixel[]} spots Middles of the places where it may be, best first.
 *
 * @typedef {{words: string, width: number, x: number, y: number}} Label
 */

const HEIGHT = 12;
/** Closer than this, two numbers are read as one. */
const GAP = 4;

/**
 * Every label in the best of its places that is free; one that has none is left out.
 * @param {Wish[]} wishes
 * @returns {Label[]}
 */
export function placeLabels(wishes) {
  /** @type {Label[]} */
  const placed = [];
  for (const { words, width, spots } of wishes.toSorted((one, other) => other.rank - one.rank)) {
    const labels = spots.map(([x, y]) => ({ words, width, x, y }));
    const free = labels.find((label) => !placed.some((other) => touch(label, other)));
    if (free) placed.push(free);
  }
  return placed;
}

/** @param {Label} one @param {Label} other */
function touch(one, other) {
  const apart = (one.width + other.width) / 2 + GAP;
  return Math.abs(one.x - other.x) < apart && Math.abs(one.y - other.y) < HEIGHT;
}
