/** Who takes part in a period, who is slow and who is away: in numbers and in words. */

import { isNumber, number, plural } from "../core/format.js";

/** @import { Method } from "../core/store.js" */

/** So that a symbol and its value stay on one line. */
const NBSP = "\u00a0";

/** @typedef {"whole" | "slow" | "away"} Part */

/**
 * The updates τ_i that each agent makes in the period that an update count lies in.
 * @param {Method} method
 * @param {number} updateCount Slots that are over.
 * @returns {number[]}
 */
export function updatesInPeriod(method, updateCount) {
  const period = Math.floor(Math.max(updateCount - 1, 0) / method.sync_period);
  return method.local_updates[period % method.local_updates.length] ?? [];
}

/**
 * @param {number[]} updates
 * @returns {Part[]}
 */
export function parts(updates) {
  const most = Math.max(...updates);
  return updates.map((made) => (made === 0 ? "away" : made < most ? "slow" : "whole"));
}

/**
 * How the agents learn together, in one or two sentences.
 * @param {Method} method
 */
export function methodWords(method) {
  const said = [meetingWords, linkWords, delayWords, attackWords].map((words) => words(method));
  return said.filter(Boolean).join(" ");
}

/** @param {Method} method */
function meetingWords(method) {
  const { averages, sync_period: period, local_updates: updates, groups } = method;
  if (updates[0].length === 1) return "One agent learns alone.";
  if (!averages) return "Nobody averages: each agent learns alone.";
  const tau = `τ${NBSP}=${NBSP}${period}`;
  const when = period === 1 ? `after every update (${tau})` : `every ${tau} updates`;
  const edges = new Set(method.edge_agents).size;
  if (edges > 1) {
    const root = `a root averages all every ${plural(groups.length, "period")}`;
    return `Each of ${edges} edge virtual agents averages its own ${when}, ${root}.`;
  }
  if (new Set(groups[0]).size > 1) return `Agents average in groups ${when}.`;
  return `The virtual agent ${ruleWords(method)} ${when}.`;
}

/** What the virtual agent makes of what is sent to it. @param {Method} method */
function ruleWords({ aggregate, tolerated }) {
  /** @type {Record<string, string>} */
  const words = {
    median: "takes the coordinate median",
    trimmed: `takes the mean without the ${tolerated} lowest and highest numbers`,
    "centred-clip": "averages with centred clipping",
    krum: `takes the most central row (Krum, f${NBSP}=${NBSP}${tolerated})`,
  };
  return words[aggregate] ?? "averages";
}

/** @param {Method} method */
function attackWords({ attackers, attack_factor: factor, attack_noise: noise }) {
  if (attackers.length === 0) return "";
  const who = attackers.length === 1 ? "Agent" : "Agents";
  const lie = noise > 0 ? `noise of size ${number(noise)} added` : `${factor} times it`;
  const verb = attackers.length === 1 ? "lies about what it" : "lie about what they";
  return `${who} ${attackers.join(", ")} ${verb} found: ${lie}.`;
}

/** @param {Method} method */
function linkWords(method) {
  const { links, consensus_rounds: rounds, algebraic_connectivity: connectivity } = method;
  if (!rounds || links.length === 0) return "";
  const known = isNumber(connectivity) ? `, μ₂${NBSP}=${NBSP}${number(connectivity)}` : "";
  const exchanges = `E${NBSP}=${NBSP}${plural(rounds, "exchange")}`;
  const first = `${plural(links.length, "link")}${known}. ${exchanges} per update`;
  if (!isNumber(method.contraction)) return `${first}.`;
  const left = number(100 * method.contraction, 2);
  return `${first} ${rounds === 1 ? "leaves" : "leave"} at most ${left}${NBSP}% of the disagreement.`;
}

/** @param {Method} method */
function delayWords({ uplink_delay: up, downlink_delay: down, adopt_every: every }) {
  const said = [];
  if (up || down) said.push(`Messages are ${up} updates late on the way up, ${down} down.`);
  if (every > 1) said.push(`Agents adopt what has come every ${every} updates.`);
  return said.join(" ");
}

/**
 * How many are slow or away, if any are.
 * @param {number[]} updates
 */
export function partWords(updates) {
  const found = parts(updates);
  const [slow, away] = ["slow", "away"].map((part) => found.filter((one) => one === part).length);
  const said = [];
  if (slow) said.push(`${slow} slow (amber): fewer than ${Math.max(...updates)} updates a period.`);
  if (away) said.push(`${away} away (grey).`);
  return said.join(" ");
}

/**
 * Each agent that is slow or away, for those who do not see the graph.
 * @param {number[]} updates
 */
export function partList(updates) {
  const found = parts(updates);
  const named = updates.flatMap((made, agent) => {
    if (found[agent] === "whole") return [];
    return [found[agent] === "away" ? `${agent} away` : `${agent} makes ${made}`];
  });
  return named.join(", ");
}
