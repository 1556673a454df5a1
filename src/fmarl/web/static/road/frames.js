/** Frames of a test epoch: what was recorded, step by step, as whole numbers. */

const HEADER_BYTES = 8;
const METRES = 0.025;
const METRES_PER_SECOND = 0.01;
const ABSENT = -32768;

/**
 * @typedef {object} Frames
 * @property {number} steps
 * @property {number} things
 * @property {Int16Array} counts By step, thing and (x, y, speed).
 *
 * @typedef {object} Place
 * @property {number} x Metres to the east.
 * @property {number} y Metres to the north.
 * @property {number} speed Metres per second.
 */

/**
 * @param {ArrayBuffer} buffer
 * @returns {Frames | null} Null if it is not as long as it says.
 */
export function decodeFrames(buffer) {
  if (buffer.byteLength < HEADER_BYTES) return null;
  const [steps, things] = new Int32Array(buffer, 0, 2); // every browser is little-endian, too
  const whole = steps > 0 && things >= 0 && buffer.byteLength === HEADER_BYTES + steps * things * 6;
  return whole ? { steps, things, counts: new Int16Array(buffer, HEADER_BYTES) } : null;
}

/**
 * Where a thing was in a step; null if it was not there.
 * @param {Frames} frames
 * @param {number} step
 * @param {number} thing
 * @returns {Place | null}
 */
export function placeAt(frames, step, thing) {
  if (step < 0 || step >= frames.steps) return null;
  const at = (step * frames.things + thing) * 3;
  const [x, y, speed] = frames.counts.subarray(at, at + 3);
  if (x === ABSENT || y === ABSENT) return null;
  return { x: x * METRES, y: y * METRES, speed: Math.max(0, speed) * METRES_PER_SECOND };
}
