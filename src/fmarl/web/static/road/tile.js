/** One run's road in a box: the road, a closer look where lanes join, and what it says above. */

import { extent } from "../charts/scale.js";
import { clock, fixed, plural } from "../core/format.js";
import { methodName } from "../core/run_words.js";
import { lineLook } from "../core/theme.js";
import { fitRoad, joinOf, segments, windowOn } from "./lanes.js";
import { drawScaleBar } from "./legend.js";
import { drawRoad, drawScene } from "./scene.js";

/** @import { Box, Painter, TextStyle } from "../core/painter.js" */
/** @import { Run } from "../core/store.js" */
/** @import { Fit, Join, Point, Segment } from "./lanes.js" */
/** @import { Road, Scene } from "./vehicles.js" */

/** Height of the words above a road. */
const HEAD = 40;
/** Room around a road for the numbers beside it. */
const RIM = 15;
/** At fewer pixels per metre cars are hard to see: where lanes join, there is a closer look. */
const THIN_SCALE = 2;
/** What a closer look has to show, in metres. */
const CLOSER = { along: 80, across: 36 };

/**
 * @typedef {object} Tile
 * @property {Run} run
 * @property {Road} road
 * @property {Segment[]} pieces
 * @property {Scene | null} scene Null until its frames are here.
 * @property {number | null} epoch
 * @property {number} step
 *
 * @typedef {{whole: Fit, closer: {box: Box, fit: Fit} | null}} Layout
 */

/**
 * Where the parts of a tile go.
 * @param {Road} road
 * @param {Box} box
 * @returns {Layout}
 */
export function layOut(road, box) {
  const inner = {
    x: box.x + RIM,
    y: box.y + HEAD + RIM,
    width: box.width - 2 * RIM,
    height: box.height - HEAD - 2 * RIM,
  };
  const margin = road.lane_metres / 2;
  const whole = fitRoad(road.lanes, inner, margin);
  const join = whole.scale < THIN_SCALE && joinOf(road.lanes);
  if (!join) return { whole, closer: null };
  // All room to spare goes below the road, to the closer look.
  const [highest, deepest] = extent(road.lanes.flat().map((point) => whole.y(point)));
  const needed = deepest - highest + 2 * margin * whole.scale;
  const top = fitRoad(road.lanes, { ...inner, height: needed }, margin);
  return { whole: top, closer: closerLook(road.lanes, box, top, join) };
}

/**
 * In the largest free place under the road: its whole width, or what is free on one side.
 * @param {Point[][]} lanes
 * @param {Box} box
 * @param {Fit} whole
 * @param {Join} join
 * @returns {Layout["closer"]}
 */
function closerLook(lanes, box, whole, join) {
  const pieces = segments(lanes);
  const shares = Array.from({ length: 16 }, (_, i) => 0.4 + 0.04 * i);
  const sides = shares.flatMap((share) => [[0, share], [1 - share, 1]]); // prettier-ignore
  const places = sides.map(([from, to]) => {
    const [left, right] = [box.x + from * box.width, box.x + to * box.width];
    const y = lowest(pieces, whole, left, right) + 22;
    return { x: left, y, width: right - left, height: box.y + box.height - y };
  });
  const scaleIn = (/** @type {Box} */ { width, height }) =>
    Math.min(width / CLOSER.along, height / CLOSER.across);
  const place = places.toSorted((one, other) => scaleIn(other) - scaleIn(one))[0];
  const scale = scaleIn(place);
  if (scale < 1.5 * whole.scale) return null;
  // The queue before the join is more interesting than the free road after it.
  const [back, side] = [(0.2 * place.width) / scale, (0.28 * place.height) / scale];
  const middle = {
    x: join.x - back * join.ahead[0] + side * join.aside[0],
    y: join.y - back * join.ahead[1] + side * join.aside[1],
  };
  return { box: place, fit: windowOn(middle, place, scale, whole.angle) };
}

/**
 * The lowest pixel of the road between two others.
 * @param {Segment[]} pieces
 * @param {Fit} whole
 * @param {number} left
 * @param {number} right
 */
function lowest(pieces, whole, left, right) {
  let most = -Infinity;
  for (const { x, y, dx, dy, length } of pieces) {
    for (let along = 0; along <= length; along += 1) {
      const point = [x + along * dx, y + along * dy];
      const across = whole.x(point);
      if (across > left - 12 && across < right + 12) most = Math.max(most, whole.y(point));
    }
  }
  return most;
}

/**
 * What does not move.
 * @param {Painter} painter
 * @param {Tile} tile
 * @param {Layout} layout
 */
export function drawStill(painter, { road, pieces }, layout) {
  drawRoad(painter, road, pieces, layout.whole);
  if (!layout.closer) return;
  const { box, fit } = layout.closer;
  drawFrameLines(painter, layout.whole, layout.closer);
  painter.inside(box, () => drawRoad(painter, road, pieces, fit));
  drawScaleBar(painter, fit, box.x + box.width - 10, box.y + box.height - 12);
}

/**
 * What moves, and the words.
 * @param {Painter} painter
 * @param {Tile} tile
 * @param {Box} box
 * @param {Layout} layout
 */
export function drawMoving(painter, tile, box, { whole, closer }) {
  drawHead(painter, tile, box);
  const { scene, road } = tile;
  if (!scene) return;
  drawScene(painter, scene, road, whole);
  if (closer) painter.inside(closer.box, () => drawScene(painter, scene, road, closer.fit));
}

/**
 * Which part of the road the closer look shows.
 * @param {Painter} painter
 * @param {Fit} whole
 * @param {{box: Box, fit: Fit}} closer
 */
function drawFrameLines(painter, whole, { box, fit }) {
  const { faint, panel } = painter.palette;
  const shrink = whole.scale / fit.scale;
  const [width, height] = [box.width * shrink, box.height * shrink];
  const middle = middleOf(fit, box);
  const [x, y] = [whole.x(middle) - width / 2, whole.y(middle) - height / 2];
  const style = { stroke: faint, dash: [2, 3] };
  painter.box({ x, y, width, height }, 0, style);
  for (const corner of [y, y + height]) {
    painter.line([[x, corner], [box.x + box.width, box.y]], style);
  }
  painter.box(box, 6, { fill: panel, stroke: faint });
}

/**
 * The place in metres that a fit shows in the middle of a box.
 * @param {Fit} fit
 * @param {Box} box
 * @returns {Point}
 */
function middleOf(fit, box) {
  const u = (box.x + box.width / 2 - fit.x([0, 0])) / fit.scale;
  const v = (fit.y([0, 0]) - box.y - box.height / 2) / fit.scale;
  const [cos, sin] = [Math.cos(fit.angle), Math.sin(fit.angle)];
  return [cos * u + sin * v, -sin * u + cos * v];
}

/** @param {Painter} painter @param {Tile} tile @param {Box} box */
function drawHead(painter, tile, { x, y, width }) {
  const { ink } = painter.palette;
  const { colour, dash } = lineLook(painter.palette, tile.run.look);
  const right = x + width;
  /** @type {TextStyle} */
  const large = { size: 25, weight: 600, colour: ink, align: "right", baseline: "alphabetic" };
  const figure = fixed(tile.scene?.averageSpeed, 3);
  painter.text(figure, right, y + 22, large);
  painter.text("NAS now", right, y + 33, { align: "right" });
  painter.line([[x, y + 9], [x + 24, y + 9]], { stroke: colour, width: 3, dash });
  const room = width - 12 - Math.max(50, painter.measure(figure, large));
  const label = { size: 13, weight: 600, colour: ink, room: room - 31 };
  painter.text(methodName(tile.run), x + 31, y + 9, label);
  const { long, short } = headWords(tile);
  const fits = painter.measure(long, { size: 11.5 }) <= room;
  painter.text(fits ? long : short, x, y + 27, { size: 11.5, room });
}

/** What is seen, in full and in short. @param {Tile} tile */
function headWords({ run, road, scene, epoch, step }) {
  const seed = `seed ${run.info.seed}`;
  if (epoch === null) return { long: `${seed} · no test epoch recorded yet`, short: seed };
  const [long, short] = [`${seed} · test after epoch ${epoch}`, `${seed} · epoch ${epoch}`];
  if (!scene) return { long, short };
  const what = scene.collided.length ? "collision" : plural(scene.brakesSoFar, "forced brake");
  const time = clock(step * road.step_seconds);
  return { long: `${long} · ${time} · ${what}`, short: `${short} · ${what}` };
}
