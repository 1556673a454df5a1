/** What colours, cars and lengths on the road mean. */

import { speedGradient } from "./speed_colours.js";

/** @import { Painter } from "../core/painter.js" */
/** @import { Fit } from "./lanes.js" */
/** @import { Road } from "./vehicles.js" */

/** Lengths of the scale's bar, in metres. */
const BAR_METRES = [5, 10, 20, 50, 100, 200];
const LONGEST_BAR = 110;

/**
 * One line at the bottom: speeds on the left, the scale on the right.
 * @param {Painter} painter
 * @param {Road} road
 * @param {Fit} fit
 * @param {number} width
 * @param {number} height
 */
export function drawLegend(painter, road, fit, width, height) {
  const y = height - 8;
  painter.text("0", 0, y);
  const bar = { x: 12, y: y - 4, width: 90, height: 8 };
  painter.box(bar, 4, { fill: speedGradient(painter.context, bar.x, bar.x + bar.width) });
  painter.text(`${road.speed_limit} m/s`, 108, y);
  const end = drawScaleBar(painter, fit, width - 30, y);
  drawKinds(painter, 172, end - 16, y);
  drawNorth(painter, fit, width - 18, y);
}

/**
 * A bar that is so many metres long, ending at `right`.
 * @param {Painter} painter
 * @param {Fit} fit
 * @param {number} right
 * @param {number} y
 * @returns {number} Where it begins.
 */
export function drawScaleBar(painter, fit, right, y) {
  const metres = BAR_METRES.findLast((length) => length * fit.scale < LONGEST_BAR) ?? BAR_METRES[0];
  const left = right - metres * fit.scale;
  const style = { stroke: painter.palette.quiet };
  painter.line([[left, y], [right, y]], style);
  for (const end of [left, right]) painter.line([[end, y - 3], [end, y + 3]], style);
  painter.text(`${metres} m`, left - 6, y, { align: "right" });
  return left - 6 - painter.measure(`${metres} m`);
}

/**
 * Who is who, if there is room: numbered and outlined learners, plain others.
 * @param {Painter} painter
 * @param {number} x
 * @param {number} end
 * @param {number} y
 */
function drawKinds(painter, x, end, y) {
  const { palette } = painter;
  const next = x + 38 + painter.measure("learner");
  if (next + 24 + painter.measure("driven by SUMO") > end) return;
  const car = { y: y - 4, width: 18, height: 8 };
  painter.box({ ...car, x }, 3, { stroke: palette.ink, width: 1.3 });
  painter.text("learner", x + 24, y);
  painter.box({ ...car, x: next }, 3, { fill: palette.car });
  painter.text("driven by SUMO", next + 24, y);
}

/** @param {Painter} painter @param {Fit} fit @param {number} x @param {number} y */
function drawNorth(painter, fit, x, y) {
  const arrow = [[0, -7], [4, 5], [0, 2], [-4, 5]];
  painter.from([x, y], -fit.angle, () => painter.line(arrow, { fill: painter.palette.quiet }));
  painter.text("N", x + 9, y);
}
