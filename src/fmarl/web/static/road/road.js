/** The road panel: the run in focus, and the pinned one beside or below it. */

import { contextOf, describe, prepare } from "../core/canvas.js";
import { byId } from "../core/dom.js";
import { fixed, plural } from "../core/format.js";
import { Painter } from "../core/painter.js";
import { methodName } from "../core/run_words.js";
import { segments } from "./lanes.js";
import { drawLegend } from "./legend.js";
import { epochFor } from "./replay.js";
import { drawMoving, drawStill, layOut } from "./tile.js";
import { sceneAt } from "./vehicles.js";

/** @import { Api } from "../core/api.js" */
/** @import { Box } from "../core/painter.js" */
/** @import { Run, Store } from "../core/store.js" */
/** @import { Theme } from "../core/theme.js" */
/** @import { Segment } from "./lanes.js" */
/** @import { Layout, Tile } from "./tile.js" */
/** @import { Road } from "./vehicles.js" */

const LEGEND = 24;
const GAP = 20;

/**
 * @param {Store} store
 * @param {Theme} theme
 * @param {Api} api
 * @param {MediaQueryList} reduced Whether motion is unwanted.
 */
export function makeRoad(store, theme, api, reduced) {
  const canvas = byId("road", HTMLCanvasElement);
  const still = document.createElement("canvas");
  /** @type {WeakMap<Road, Segment[]>} */
  const piecesOf = new WeakMap();
  /** @type {{key: string, boxes: Box[], layouts: Layout[]} | null} */
  let known = null;
  let shownEpoch = "";

  /** @param {Run} run @param {Road} road @returns {Tile} */
  function tileOf(run, road) {
    const numAgents = run.about?.num_agents ?? run.start?.num_agents;
    const pieces = piecesOf.get(road) ?? segments(road.lanes);
    piecesOf.set(road, pieces);
    const epoch = epochFor(run.frames, store.state.view.epoch);
    const frames = epoch === null ? null : api.frames(run, epoch);
    const tile = { run, road, pieces, epoch, scene: null, step: 0 };
    if (!frames || !numAgents) return tile;
    const step = Math.min(store.state.view.step, frames.steps - 1);
    const crashed = run.tests.find((test) => test.epoch === epoch)?.crashed?.[0] ?? false;
    const scene = sceneAt(frames, step, road, pieces, numAgents, crashed);
    return { ...tile, scene, step };
  }

  function draw() {
    if (canvas.clientWidth === 0) return;
    const tiles = [store.focused, store.pinned].flatMap((run) =>
      run?.about?.road ? [tileOf(run, run.about.road)] : [],
    );
    if (tiles.length === 0) return;
    const { painter, width, height } = prepare(canvas, theme.palette);
    const plan = planFor(tiles, width, height);
    painter.context.drawImage(still, 0, 0, width, height);
    for (const [i, tile] of tiles.entries()) {
      drawMoving(painter, tile, plan.boxes[i], plan.layouts[i]);
    }
    describe(canvas, tiles.map(words).join("; "));
    fadeIn(tiles);
  }

  /**
   * Where things go is worked out once, and what does not move painted; again if that changes.
   * @param {Tile[]} tiles
   * @param {number} width
   * @param {number} height
   */
  function planFor(tiles, width, height) {
    const { palette } = theme;
    const ids = tiles.map((tile) => tile.run.id).join(" ");
    const key = [ids, canvas.width, canvas.height, palette.panel, palette.asphalt].join();
    if (known?.key === key) return known;
    const boxes = bestBoxes(tiles, width, height - LEGEND);
    const layouts = tiles.map((tile, i) => layOut(tile.road, boxes[i]));
    still.width = canvas.width;
    still.height = canvas.height;
    const painter = new Painter(contextOf(still), palette);
    painter.context.scale(canvas.width / width, canvas.height / height);
    for (const [i, tile] of tiles.entries()) drawStill(painter, tile, layouts[i]);
    drawLegend(painter, tiles[0].road, layouts[0].whole, width, height);
    known = { key, boxes, layouts };
    return known;
  }

  /**
   * Another epoch appears softly: it is another day, not a motion of these vehicles.
   * @param {Tile[]} tiles
   */
  function fadeIn(tiles) {
    const epoch = tiles.map((tile) => `${tile.run.id} ${tile.scene && tile.epoch}`).join();
    if (epoch === shownEpoch) return;
    shownEpoch = epoch;
    if (!reduced.matches) canvas.animate([{ opacity: 0.3 }, { opacity: 1 }], 450);
  }

  store.on(["view", "clock", "frames", "about", "theme", "runs", "lines", "connection"], draw);
  new ResizeObserver(draw).observe(canvas);
}

/**
 * Beside or above each other: whichever makes the roads larger.
 * @param {Tile[]} tiles
 * @param {number} width
 * @param {number} height
 * @returns {Box[]}
 */
function bestBoxes(tiles, width, height) {
  if (tiles.length === 1) return [{ x: 0, y: 0, width, height }];
  const half = { width: (width - GAP) / 2, height: (height - GAP / 2) / 2 };
  const beside = [0, half.width + GAP].map((x) => ({ x, y: 0, width: half.width, height }));
  const below = [0, half.height + GAP / 2].map((y) => ({ x: 0, y, width, height: half.height }));
  const size = (/** @type {Box[]} */ boxes) => layOut(tiles[0].road, boxes[0]).whole.scale;
  return size(beside) >= size(below) ? beside : below;
}

/** @param {Tile} tile */
function words({ run, scene, epoch, step }) {
  const label = methodName(run);
  if (!scene) return `${label}: no vehicles yet`;
  const seen = `${plural(scene.vehicles.length, "vehicle")}, NAS ${fixed(scene.averageSpeed, 2)}`;
  const crash = scene.collided.length ? ", collision" : "";
  return `${label}: ${seen}, epoch ${epoch}, step ${step}${crash}`;
}
