/** Painting the communication graph. */

/** @import { Painter } from "../core/painter.js" */
/** @import { Part } from "./members.js" */
/** @import { Message } from "./messages.js" */

/** More agents than this have no room for numbers. */
const MOST_NUMBERED = 30;
/** More links than this are drawn thinner. */
const DENSE = 200;

/**
 * @typedef {{x: number, y: number}} Spot
 * @typedef {object} GraphLayout
 * @property {Spot[]} agents
 * @property {Spot | null} middle Where the virtual agent is: the root, if there are edges.
 * @property {Spot[]} meets Where each agent sends to: the middle, or its edge virtual agent.
 * @property {number} size
 * @property {Spot} centre
 */

/** How far from the middle edge virtual agents are, of the way to their agents. */
const EDGE_SHARE = 0.5;

/**
 * Agents on a circle from the top, clockwise; the virtual agent in the middle.
 * @param {number} numAgents
 * @param {number} width
 * @param {number} height
 * @param {boolean} hasMiddle
 * @param {number[]} edges The edge virtual agent of each agent; empty if there is but one.
 * @returns {GraphLayout}
 */
export function layOut(numAgents, width, height, hasMiddle, edges) {
  const centre = { x: width / 2, y: height / 2 };
  const size = Math.max(2, Math.min(12, (1.1 * Math.min(width, height)) / (numAgents + 6)));
  // A circle if it fits; else a little flatter or narrower, with room for τ_i beside the agents.
  const room = { across: width / 2 - size - 30, down: height / 2 - size - 4 };
  const across = Math.min(room.across, room.down * 1.3);
  const down = Math.min(room.down, room.across * 1.3);
  if (numAgents === 1) return { agents: [centre], middle: null, meets: [], size, centre };
  const agents = Array.from({ length: numAgents }, (_, i) => {
    const angle = (2 * Math.PI * i) / numAgents - Math.PI / 2;
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    return { x: centre.x + across * cos, y: centre.y + down * sin };
  });
  const middle = hasMiddle ? centre : null;
  return { agents, middle, meets: middle ? meetingSpots(agents, centre, edges) : [], size, centre };
}

/**
 * @param {Spot[]} agents
 * @param {Spot} centre
 * @param {number[]} edges
 * @returns {Spot[]} For each agent; those of one edge have the same.
 */
function meetingSpots(agents, centre, edges) {
  const spots = new Map();
  for (const edge of new Set(edges)) {
    const own = agents.filter((_, agent) => edges[agent] === edge);
    const along = (/** @type {"x" | "y"} */ axis) => {
      const mean = own.reduce((sum, spot) => sum + spot[axis], 0) / own.length;
      return centre[axis] + EDGE_SHARE * (mean - centre[axis]);
    };
    spots.set(edge, { x: along("x"), y: along("y") });
  }
  return agents.map((_, agent) => spots.get(edges[agent]) ?? centre);
}

/**
 * @param {Painter} painter
 * @param {GraphLayout} layout
 * @param {number[][]} links
 * @param {Part[]} parts
 */
export function drawLines(painter, layout, links, parts) {
  const { agents, middle, meets } = layout;
  agents.forEach((spot, agent) => {
    if (!middle) return;
    const dash = parts[agent] === "away" ? [1, 5] : [3, 4];
    const { x, y } = meets[agent];
    painter.line([[x, y], [spot.x, spot.y]], { stroke: painter.palette.faint, dash });
  });
  for (const { x, y } of edgeSpots(layout)) {
    painter.line([[layout.centre.x, layout.centre.y], [x, y]], { stroke: painter.palette.faint });
  }
  const [width, alpha] = links.length > DENSE ? [0.6, 0.15] : [1.3, 0.5];
  const style = { stroke: painter.palette.exchange, width, alpha };
  for (const [one, other] of links) {
    const [from, to] = [agents[one], agents[other]];
    if (!from || !to) continue;
    const curve = bow(from, to, layout);
    painter.shape(style, (context) => {
      context.moveTo(from.x, from.y);
      context.quadraticCurveTo(curve.x, curve.y, to.x, to.y);
    });
  }
}

/**
 * @param {Painter} painter
 * @param {GraphLayout} layout
 * @param {number[]} updates τ_i of each agent.
 * @param {Part[]} parts
 */
export function drawNodes(painter, layout, updates, parts) {
  if (layout.middle) drawMiddle(painter, layout.middle, layout.size);
  for (const spot of edgeSpots(layout)) drawEdge(painter, spot, layout.size);
  layout.agents.forEach((spot, agent) => {
    drawAgent(painter, spot, layout.size, parts[agent] ?? "whole");
    if (layout.agents.length > MOST_NUMBERED) return;
    const colour = parts[agent] === "away" ? painter.palette.away : painter.palette.panel;
    const type = { size: layout.size >= 10 ? 12 : 10, weight: 600, colour };
    painter.text(String(agent), spot.x, spot.y + 0.5, { ...type, align: "center" });
    if (parts[agent] === "slow") drawUpdates(painter, layout, spot, updates[agent]);
  });
}

/**
 * Messages on their way.
 * @param {Painter} painter
 * @param {GraphLayout} layout
 * @param {{message: Message, share: number}[]} dots
 */
export function drawDots(painter, layout, dots) {
  const { upload, exchange } = painter.palette;
  for (const { message, share } of dots) {
    const from = spotOf(layout, message.from, message.to);
    const to = spotOf(layout, message.to, message.from);
    if (!from || !to) continue;
    const isExchange = message.kind === "exchange";
    const passed = share * share * (3 - 2 * share); // leaves and arrives gently
    const curve = isExchange ? bow(from, to, layout) : middleOf(from, to);
    const { x, y } = along(from, curve, to, passed);
    const size = (isExchange ? 2.2 : 3.6) + Math.min(2, Math.log10(message.amount));
    const alpha = Math.min(1, 4 * share, 4 * (1 - share) + 0.2);
    const colour = isExchange ? exchange : upload;
    const ink = message.kind === "download" ? { stroke: colour, width: 2 } : { fill: colour };
    painter.disc(x, y, size, { ...ink, alpha });
  }
}

/**
 * Where an agent is, or the virtual one that it talks to.
 * @param {GraphLayout} layout
 * @param {number} agent
 * @param {number} other
 * @returns {Spot | undefined}
 */
function spotOf(layout, agent, other) {
  return agent < 0 ? layout.meets[other] : layout.agents[agent];
}

/** @param {GraphLayout} layout @returns {Set<Spot>} Of edge virtual agents, if there are several. */
function edgeSpots({ meets, middle }) {
  return new Set(meets.filter((spot) => spot !== middle));
}

/**
 * Links bend a little around the middle, so that they are told from the lines to it.
 * @param {Spot} from
 * @param {Spot} to
 * @param {GraphLayout} layout
 * @returns {Spot}
 */
function bow(from, to, { centre, middle }) {
  const half = middleOf(from, to);
  if (!middle) return half;
  const [dx, dy] = [half.x - centre.x, half.y - centre.y];
  const away = Math.hypot(dx, dy);
  // Opposite agents: bend to the side, for there is no outward.
  if (away < 6) return { x: half.x - (to.y - from.y) * 0.18, y: half.y + (to.x - from.x) * 0.18 };
  const bend = 1 + 14 / away;
  return { x: centre.x + dx * bend, y: centre.y + dy * bend };
}

/** @param {Spot} from @param {Spot} to @returns {Spot} */
function middleOf(from, to) {
  return { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
}

/** @param {Spot} from @param {Spot} curve @param {Spot} to @param {number} share @returns {Spot} */
function along(from, curve, to, share) {
  const [a, b, c] = [(1 - share) ** 2, 2 * share * (1 - share), share ** 2];
  return { x: a * from.x + b * curve.x + c * to.x, y: a * from.y + b * curve.y + c * to.y };
}

/** @param {Painter} painter @param {Spot} spot @param {number} size */
function drawMiddle(painter, { x, y }, size) {
  const { panel, upload, ink } = painter.palette;
  const half = Math.max(size, 9) * 1.15;
  const square = { x: x - half, y: y - half, width: 2 * half, height: 2 * half };
  painter.box(square, 5, { fill: panel, stroke: upload, width: 2 });
  painter.text("θ̄", x, y + 1, { size: 12, weight: 600, colour: ink, align: "center" });
}

/** @param {Painter} painter @param {Spot} spot @param {number} size */
function drawEdge(painter, { x, y }, size) {
  const { panel, upload } = painter.palette;
  const half = Math.max(size, 5) * 0.7;
  const square = { x: x - half, y: y - half, width: 2 * half, height: 2 * half };
  painter.box(square, 3, { fill: panel, stroke: upload, width: 1.5 });
}

/** @param {Painter} painter @param {Spot} spot @param {number} size @param {Part} part */
function drawAgent(painter, { x, y }, size, part) {
  const { agent, slow, away, panel } = painter.palette;
  const styles = {
    whole: { fill: agent, stroke: panel, width: 2 },
    slow: { fill: slow, stroke: panel, width: 2 },
    away: { fill: panel, stroke: away, width: 1.5, dash: [3, 3] },
  };
  painter.disc(x, y, size, styles[part]);
}

/**
 * How many updates a slow agent makes, on the outer side of it.
 * @param {Painter} painter
 * @param {GraphLayout} layout
 * @param {Spot} spot
 * @param {number} updates
 */
function drawUpdates(painter, { centre, size }, spot, updates) {
  const isLeft = spot.x < centre.x - 1;
  const x = spot.x + (size + 4) * (isLeft ? -1 : 1);
  painter.text(`τ ${updates}`, x, spot.y, {
    colour: painter.palette.slow,
    align: isLeft ? "right" : "left",
  });
}
