/** From frames to what is seen in a step: where vehicles stand, who was braked, who collided. */

import { placeAt } from "./frames.js";
import { headingAt } from "./lanes.js";

/** @import { Frames, Place } from "./frames.js" */
/** @import { Point, Segment } from "./lanes.js" */

/** A brake lasts one step, which nobody would see: it is shown for this long after. */
const BRAKE_SHOWN_SECONDS = 0.6;
/** Speeds are recorded to 1 cm/s, so a difference may be off by as much. */
const ROUNDING = 0.015;
/** Below this in a step, a difference of two places is mostly rounding. */
const CLEAR_MOTION_METRES = 0.25;
const TRAIL_SECONDS = 2.5;

/**
 * @typedef {{speed_limit: number, step_seconds: number, max_accel: number,
 *   vehicle_metres: number, lane_metres: number, lanes: Point[][]}} Road
 * @typedef {object} Vehicle
 * @property {number} x Metres, of the middle of its front bumper, as SUMO has it.
 * @property {number} y
 * @property {number} speed
 * @property {number} heading Radians.
 * @property {number | null} agent Which learner it is; null for the others.
 * @property {boolean} braked Whether SUMO forced it to brake a moment ago.
 * @property {Place[]} trail Where it was before, newest first.
 *
 * @typedef {object} Scene
 * @property {Vehicle[]} vehicles
 * @property {number | null} averageSpeed Of everybody present, as a share of the limit.
 * @property {number} brakesSoFar
 * @property {Vehicle[]} collided The two that met, in the last step of an epoch that ended so.
 */

/**
 * Everything that is seen in a step.
 * @param {Frames} frames
 * @param {number} step
 * @param {Road} road
 * @param {Segment[]} pieces Of the same road.
 * @param {number} numAgents
 * @param {boolean} crashed Whether the epoch ended in a collision.
 * @returns {Scene}
 */
export function sceneAt(frames, step, road, pieces, numAgents, crashed) {
  const brakes = forcedBrakes(frames, numAgents, road);
  const recent = step - BRAKE_SHOWN_SECONDS / road.step_seconds;
  const vehicles = [];
  for (let thing = 0; thing < frames.things; thing += 1) {
    const place = placeAt(frames, step, thing);
    if (!place) continue;
    const isLearner = thing < numAgents;
    const motion = motionOf(frames, step, thing, road.step_seconds);
    vehicles.push({
      ...place,
      heading: headingOf(place, motion, pieces),
      agent: isLearner ? thing : null,
      braked: isLearner && brakes[thing].some((at) => at <= step && at > recent),
      trail: isLearner ? trailOf(frames, step, thing, road.step_seconds) : [],
    });
  }
  const speeds = vehicles.reduce((sum, vehicle) => sum + vehicle.speed, 0);
  return {
    vehicles,
    averageSpeed: vehicles.length ? speeds / vehicles.length / road.speed_limit : null,
    brakesSoFar: brakes.flatMap(beginnings).filter((at) => at <= step).length,
    collided: crashed && step === frames.steps - 1 ? nearestTwo(vehicles) : [],
  };
}

/** @type {WeakMap<Frames, number[][]>} They do not change, so they are looked for once. */
const brakesOf = new WeakMap();

/**
 * Per learner, the steps in which its speed fell faster than a learner can ask for.
 * @param {Frames} frames
 * @param {number} numAgents
 * @param {Road} road
 * @returns {number[][]}
 */
export function forcedBrakes(frames, numAgents, road) {
  const known = brakesOf.get(frames);
  if (known) return known;
  const hardest = road.max_accel * road.step_seconds + ROUNDING;
  const found = Array.from({ length: numAgents }, (_, agent) => {
    const steps = [];
    for (let step = 1; step < frames.steps; step += 1) {
      const [before, now] = [placeAt(frames, step - 1, agent), placeAt(frames, step, agent)];
      const fell = before && now && before.speed - now.speed > hardest;
      if (fell && isSameVehicle(before, now, road.step_seconds)) steps.push(step);
    }
    return steps;
  });
  brakesOf.set(frames, found);
  return found;
}

/** Steps in a row are one brake. @param {number[]} steps */
function beginnings(steps) {
  return steps.filter((at, i) => at - 1 !== steps[i - 1]);
}

/**
 * A learner that leaves the road is replaced by another vehicle: then its row jumps.
 * @param {Place} before
 * @param {Place} now
 * @param {number} seconds
 */
function isSameVehicle(before, now, seconds) {
  const moved = Math.hypot(now.x - before.x, now.y - before.y);
  return moved <= Math.max(before.speed, now.speed) * seconds + 1;
}

/**
 * @param {Frames} frames
 * @param {number} step
 * @param {number} thing
 * @param {number} seconds
 * @returns {Point | null}
 */
function motionOf(frames, step, thing, seconds) {
  const later = Math.max(step, 1);
  const [before, now] = [placeAt(frames, later - 1, thing), placeAt(frames, later, thing)];
  if (!before || !now) return null;
  const moved = Math.hypot(now.x - before.x, now.y - before.y);
  // Rows of other vehicles may change hands, so a motion must fit the speed.
  const fits = Math.abs(moved - now.speed * seconds) < 0.3 * now.speed * seconds + 0.1;
  if (moved < CLEAR_MOTION_METRES || !fits) return null;
  return [(now.x - before.x) / moved, (now.y - before.y) / moved];
}

/**
 * Along the motion where that is clear and the lane agrees; else along the lane.
 * @param {Place} place
 * @param {Point | null} motion
 * @param {Segment[]} pieces
 */
function headingOf(place, motion, pieces) {
  const lane = headingAt(pieces, place.x, place.y, motion);
  if (!motion) return lane;
  const agrees = Math.cos(lane) * motion[0] + Math.sin(lane) * motion[1] > 0.8;
  return agrees ? Math.atan2(motion[1], motion[0]) : lane;
}

/** @param {Frames} frames @param {number} step @param {number} thing @param {number} seconds */
function trailOf(frames, step, thing, seconds) {
  const trail = [];
  let after = placeAt(frames, step, thing);
  const first = Math.max(0, step - Math.round(TRAIL_SECONDS / seconds));
  for (let at = step - 1; at >= first; at -= 1) {
    const place = placeAt(frames, at, thing);
    if (!place || !after || !isSameVehicle(place, after, seconds)) break;
    trail.push(place);
    after = place;
  }
  return trail;
}

/** @param {Vehicle[]} vehicles */
function nearestTwo(vehicles) {
  /** @type {Vehicle[]} */
  let pair = [];
  let least = Infinity;
  for (const [i, one] of vehicles.entries()) {
    for (const other of vehicles.slice(i + 1)) {
      const apart = Math.hypot(one.x - other.x, one.y - other.y);
      if (apart < least) [pair, least] = [[one, other], apart];
    }
  }
  return pair;
}
