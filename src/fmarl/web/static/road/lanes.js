/** What can be read from the shape of a road: which way it leads, where it joins, how it fits. */

import { extent } from "../charts/scale.js";

/** @import { Box } from "../core/painter.js" */

/**
 * @typedef {number[]} Point Metres to the east and to the north.
 * @typedef {{x: number, y: number, dx: number, dy: number, length: number}} Segment
 * @typedef {{x: number, y: number, ahead: Point, aside: Point}} Join `ahead` is the way that
 *   traffic leaves it, `aside` points to where the lane comes from that is not straight before.
 * @typedef {{scale: number, angle: number, x: (p: Point) => number, y: (p: Point) => number}} Fit
 */

/** Shorter pieces have no direction worth the name: SUMO leaves such between its edges. */
const SHORTEST_METRES = 0.2;
/** A road is turned only if it gets larger by this factor. */
const WORTH_TURNING = 1.15;

/**
 * The straight pieces of all lanes, with unit directions.
 * @param {Point[][]} lanes
 * @returns {Segment[]}
 */
export function segments(lanes) {
  return lanes.flatMap((lane) =>
    lane.slice(1).flatMap(([toX, toY], i) => {
      const [x, y] = lane[i];
      const length = Math.hypot(toX - x, toY - y);
      if (length < SHORTEST_METRES) return [];
      return [{ x, y, dx: (toX - x) / length, dy: (toY - y) / length, length }];
    }),
  );
}

/**
 * Which way traffic goes at a place. Where lanes cross, `motion` decides between them.
 * @param {Segment[]} pieces
 * @param {number} x
 * @param {number} y
 * @param {Point | null} motion
 * @returns {number} Angle against the east, in radians.
 */
export function headingAt(pieces, x, y, motion) {
  let best = null;
  let least = Infinity;
  for (const piece of pieces) {
    const forward = (x - piece.x) * piece.dx + (y - piece.y) * piece.dy;
    const along = Math.min(Math.max(forward, 0), piece.length);
    const away = Math.hypot(x - piece.x - along * piece.dx, y - piece.y - along * piece.dy);
    const agrees = motion ? piece.dx * motion[0] + piece.dy * motion[1] : 1;
    const badness = away + (agrees > 0.5 ? 0 : 5); // metres: more than a lane is wide
    if (badness < least) [best, least] = [piece, badness];
  }
  return best ? Math.atan2(best.dy, best.dx) : 0;
}

/**
 * The place where two lanes end in one, if there is such a place.
 * @param {Point[][]} lanes
 * @returns {Join | null}
 */
export function joinOf(lanes) {
  const long = lanes.filter((lane) => distance(lane[0], endOf(lane)) > 1);
  for (const end of long.map(endOf)) {
    const ending = long.filter((rival) => distance(endOf(rival), end) < 0.5);
    const onward = long.find((next) => distance(next[0], end) < 0.5);
    if (ending.length < 2 || !onward) continue;
    const ahead = direction(onward[0], endOf(onward));
    const left = [-ahead[1], ahead[0]];
    const bend = ending.map((rival) => dot(direction(end, rival[0]), left));
    const side = Math.max(...bend) > -Math.min(...bend) ? 1 : -1;
    return { x: end[0], y: end[1], ahead, aside: [side * left[0], side * left[1]] };
  }
  return null;
}

/**
 * How a road fills a box: one scale for both axes, turned if that makes it larger.
 * @param {Point[][]} lanes
 * @param {Box} box In pixels.
 * @param {number} margin Metres around the lanes' centres.
 * @returns {Fit}
 */
export function fitRoad(lanes, box, margin) {
  const points = lanes.flat();
  const straight = fitAt(points, box, margin, 0);
  const turned = fitAt(points, box, margin, -Math.PI / 4);
  return turned.scale > straight.scale * WORTH_TURNING ? turned : straight;
}

/**
 * A window on a road: a place in the middle of a box, at a given scale.
 * @param {{x: number, y: number}} place In metres.
 * @param {Box} box In pixels.
 * @param {number} scale Pixels per metre.
 * @param {number} angle
 * @returns {Fit}
 */
export function windowOn(place, box, scale, angle) {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const [middleX, middleY] = [box.x + box.width / 2, box.y + box.height / 2];
  return {
    scale,
    angle,
    x: ([x, y]) => middleX + scale * (cos * (x - place.x) - sin * (y - place.y)),
    y: ([x, y]) => middleY - scale * (sin * (x - place.x) + cos * (y - place.y)), // north is up
  };
}

/**
 * @param {Point[]} points
 * @param {Box} box
 * @param {number} margin
 * @param {number} angle
 * @returns {Fit}
 */
function fitAt(points, box, margin, angle) {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const [left, right] = extent(points.map(([x, y]) => cos * x - sin * y));
  const [bottom, top] = extent(points.map(([x, y]) => sin * x + cos * y));
  const scale = Math.min(
    box.width / (right - left + 2 * margin),
    box.height / (top - bottom + 2 * margin),
  );
  const [u, v] = [(left + right) / 2, (bottom + top) / 2];
  const middle = { x: cos * u + sin * v, y: -sin * u + cos * v };
  return windowOn(middle, box, scale, angle);
}

/** @param {Point[]} lane */
function endOf(lane) {
  return lane[lane.length - 1];
}

/** @param {Point} from @param {Point} to */
function direction(from, to) {
  const length = distance(from, to);
  return [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
}

/** @param {Point} one @param {Point} other */
function dot(one, other) {
  return one[0] * other[0] + one[1] * other[1];
}

/** @param {Point} given @param {Point} given */
function distance([x, y], [toX, toY]) {
  return Math.hypot(toX - x, toY - y);
}
