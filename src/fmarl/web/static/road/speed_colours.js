/** Speed as a colour: dark and blue is slow, bright and yellow is fast, evenly in between. */

/** Lightness grows steadily, so the order survives without colour vision and on paper. */
const STOPS = [
  [74, 42, 122],
  [62, 79, 150],
  [42, 118, 155],
  [31, 156, 137],
  [84, 190, 104],
  [165, 218, 64],
  [250, 231, 60],
];

/** @param {number} share Of the speed limit; beyond 0 … 1 it is cut. */
export function speedColour(share) {
  const place = Math.min(Math.max(share, 0), 1) * (STOPS.length - 1);
  const below = Math.min(Math.floor(place), STOPS.length - 2);
  const [from, to] = [STOPS[below], STOPS[below + 1]];
  const mixed = from.map((value, i) => Math.round(value + (place - below) * (to[i] - value)));
  return `rgb(${mixed.join(" ")})`;
}

/**
 * The colours from standing to the speed limit, from left to right.
 * @param {CanvasRenderingContext2D} context
 * @param {number} left
 * @param {number} right
 * @returns {CanvasGradient}
 */
export function speedGradient(context, left, right) {
  const gradient = context.createLinearGradient(left, 0, right, 0);
  STOPS.forEach((_, i) => {
    const share = i / (STOPS.length - 1);
    gradient.addColorStop(share, speedColour(share));
  });
  return gradient;
}
