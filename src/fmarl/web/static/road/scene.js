/** Painting one road with its vehicles, to scale. */

import { placeLabels } from "./labels.js";
import { speedColour } from "./speed_colours.js";

/** @import { Painter, Pixel, TextStyle } from "../core/painter.js" */
/** @import { Fit, Segment } from "./lanes.js" */
/** @import { Road, Scene, Vehicle } from "./vehicles.js" */

/** SUMO's passenger car; lengths come from the record. */
const CAR_WIDTH_METRES = 1.8;
/** Smaller than this nobody would see a car, so it is drawn no thinner. */
const LEAST_CAR_WIDTH = 2.6;
/** From so many pixels per metre on there is room for arrows. */
const ARROW_SCALE = 2;
const METRES_BETWEEN_ARROWS = 12;
/** Pixels by which a number moves away from its car if its place is taken. */
const LABEL_STEP = 12;

/**
 * The road without vehicles.
 * @param {Painter} painter
 * @param {Road} road
 * @param {Segment[]} pieces
 * @param {Fit} fit
 */
export function drawRoad(painter, road, pieces, fit) {
  const { kerb, asphalt } = painter.palette;
  const width = Math.max(road.lane_metres * fit.scale, 3);
  const lanes = road.lanes.map((lane) => lane.map((point) => [fit.x(point), fit.y(point)]));
  const wider = width + Math.max(2, width * 0.12);
  for (const lane of lanes) painter.line(lane, { stroke: kerb, width: wider, cap: "round" });
  for (const lane of lanes) painter.line(lane, { stroke: asphalt, width, cap: "round" });
  if (fit.scale >= ARROW_SCALE) drawArrows(painter, pieces, fit);
}

/**
 * Trails first, then vehicles, then what flashes, so that nothing important is covered.
 * @param {Painter} painter
 * @param {Scene} scene
 * @param {Road} road
 * @param {Fit} fit
 */
export function drawScene(painter, scene, road, fit) {
  const learners = scene.vehicles.filter((vehicle) => vehicle.agent !== null);
  const others = scene.vehicles.filter((vehicle) => vehicle.agent === null);
  for (const vehicle of learners) drawTrail(painter, vehicle, road, fit);
  for (const vehicle of [...others, ...learners]) drawCar(painter, vehicle, road, fit);
  if (scene.collided.length) drawCollision(painter, scene.collided, fit);
  drawNumbers(painter, learners, scene, road, fit);
}

/**
 * Chevrons every few metres say which way traffic goes.
 * @param {Painter} painter
 * @param {Segment[]} pieces
 * @param {Fit} fit
 */
function drawArrows(painter, pieces, fit) {
  const size = 0.8 * fit.scale;
  const chevron = [[-size, -size], [0, 0], [-size, size]];
  let since = METRES_BETWEEN_ARROWS / 2;
  for (const piece of pieces) {
    for (; since < piece.length; since += METRES_BETWEEN_ARROWS) {
      const point = [piece.x + since * piece.dx, piece.y + since * piece.dy];
      const angle = -(Math.atan2(piece.dy, piece.dx) + fit.angle);
      painter.from([fit.x(point), fit.y(point)], angle, () => {
        painter.line(chevron, { stroke: painter.palette.marking, width: 1.2 });
      });
    }
    since -= piece.length;
  }
}

/**
 * Where it was in the last seconds, in the colour of the speed it had there.
 * @param {Painter} painter
 * @param {Vehicle} vehicle
 * @param {Road} road
 * @param {Fit} fit
 */
function drawTrail(painter, vehicle, road, fit) {
  let before = pixel(vehicle, fit);
  vehicle.trail.forEach((place, i) => {
    const next = pixel(place, fit);
    painter.line([before, next], {
      stroke: speedColour(place.speed / road.speed_limit),
      width: Math.max(1.5, fit.scale),
      alpha: 0.8 * (1 - i / vehicle.trail.length),
    });
    before = next;
  });
}

/**
 * SUMO's place is the middle of the front bumper: the car lies behind it.
 * @param {Painter} painter
 * @param {Vehicle} vehicle
 * @param {Road} road
 * @param {Fit} fit
 */
function drawCar(painter, vehicle, road, fit) {
  const { car, ink } = painter.palette;
  const length = road.vehicle_metres * fit.scale;
  const width = Math.max(CAR_WIDTH_METRES * fit.scale, LEAST_CAR_WIDTH);
  const learner = { fill: speedColour(vehicle.speed / road.speed_limit), stroke: ink, width: 1.3 };
  const style = vehicle.agent === null ? { fill: car } : learner;
  const body = { x: -length, y: -width / 2, width: length, height: width };
  painter.from(pixel(vehicle, fit), -(vehicle.heading + fit.angle), () => {
    painter.box(body, Math.min(width, length) * 0.35, style);
    if (vehicle.braked) drawBrakeLights(painter, length, width);
  });
}

/**
 * Two red lamps and their glow behind the car.
 * @param {Painter} painter
 * @param {number} length
 * @param {number} width
 */
function drawBrakeLights(painter, length, width) {
  const { alarm } = painter.palette;
  painter.shape({ fill: alarm, alpha: 0.35 }, (context) => {
    context.arc(-length, 0, width * 1.5, Math.PI / 2, -Math.PI / 2);
  });
  const size = Math.max(2, width * 0.32);
  for (const y of [-width / 2 - 0.5, width / 2 - size + 0.5]) {
    painter.box({ x: -length - size * 0.6, y, width: size, height: size }, 0, { fill: alarm });
  }
}

/**
 * The agents' numbers beside their cars; where all is full, who brakes or collides has its own.
 * @param {Painter} painter
 * @param {Vehicle[]} learners
 * @param {Scene} scene
 * @param {Road} road
 * @param {Fit} fit
 */
function drawNumbers(painter, learners, scene, road, fit) {
  /** @type {TextStyle} */
  const type = { weight: 600, colour: painter.palette.ink, align: "center", halo: true };
  const wishes = learners.map((vehicle) => {
    const words = String(vehicle.agent);
    const rank = 2 * Number(scene.collided.includes(vehicle)) + Number(vehicle.braked);
    return { words, width: painter.measure(words, type), rank, spots: spots(vehicle, road, fit) };
  });
  for (const { words, x, y } of placeLabels(wishes)) painter.text(words, x, y, type);
}

/**
 * Where a number may be: beside the middle of the car, on either side, near or a little further.
 * @param {Vehicle} vehicle
 * @param {Road} road
 * @param {Fit} fit
 * @returns {Pixel[]}
 */
function spots(vehicle, road, fit) {
  const angle = vehicle.heading + fit.angle;
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
  const behind = (road.vehicle_metres / 2) * fit.scale;
  const near = (road.lane_metres / 2) * fit.scale + 8.5;
  const [front, side] = pixel(vehicle, fit);
  return [near, -near, near + LABEL_STEP, -near - LABEL_STEP].map((beside) => [
    front - cos * behind - sin * beside,
    side + sin * behind - cos * beside,
  ]);
}

/** @param {Painter} painter @param {Vehicle[]} given @param {Fit} fit */
function drawCollision(painter, [one, other], fit) {
  const { alarm } = painter.palette;
  const [x, y] = pixel({ x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 }, fit);
  const radius = Math.max(16, 6 * fit.scale);
  painter.disc(x, y, radius, { fill: alarm, alpha: 0.18 });
  painter.disc(x, y, radius, { stroke: alarm, width: 3 });
  for (let ray = 0; ray < 12; ray += 1) {
    const [cos, sin] = [Math.cos((ray * Math.PI) / 6), Math.sin((ray * Math.PI) / 6)];
    const ends = [radius + 3, radius + 9].map((far) => [x + cos * far, y + sin * far]);
    painter.line(ends, { stroke: alarm, width: 3 });
  }
}

/** @param {{x: number, y: number}} given @param {Fit} fit @returns {Pixel} */
function pixel({ x, y }, fit) {
  return [fit.x([x, y]), fit.y([x, y])];
}
