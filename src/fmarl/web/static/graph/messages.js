/** Which messages an epoch had, read off the ledger, and when in the epoch they were sent. */

/** @import { Line, Method } from "../core/store.js" */

/**
 * @typedef {object} Message
 * @property {"upload" | "download" | "exchange"} kind
 * @property {number} from Agent; −1 for the virtual one.
 * @property {number} to
 * @property {number} amount How many of the same this one stands for.
 * @property {number} at Share of the epoch that had passed.
 */

/** More dots than this are a fog: one then stands for all of its kind on its link. */
const MOST_DOTS = 600;

/**
 * The messages of an epoch: as many as the ledger has, along the links of the method.
 * @param {Line | undefined} before Undefined for the beginning of the run.
 * @param {Line | undefined} line
 * @param {Method} method
 * @returns {Message[]}
 */
export function messagesBetween(before, line, method) {
  const ledger = line?.ledger;
  if (!ledger) return [];
  const sent = (/** @type {string} */ name) => {
    const since = before?.ledger?.[name] ?? [];
    return ledger[name].map((total, agent) => total - (since[agent] ?? 0));
  };
  const meetings = syncTimes(before?.update_count ?? 0, line.update_count, method.sync_period);
  return thinned([
    ...ofKind("upload", sent("uploads"), (agent) => [agent, -1], meetings, 0),
    ...ofKind("download", sent("downloads"), (agent) => [-1, agent], meetings, 0.1),
    ...exchanges(sent("exchanges"), method),
  ]);
}

/**
 * When the virtual agent is spoken to: after the last slot of each period that ends here.
 * @param {number} first
 * @param {number} end
 * @param {number} period
 */
function syncTimes(first, end, period) {
  const times = [];
  for (let slot = first; slot < end; slot += 1) {
    if ((slot + 1) % period === 0) times.push((slot + 1 - first) / (end - first));
  }
  return times;
}

/**
 * @param {Message["kind"]} kind
 * @param {number[]} amounts
 * @param {(agent: number) => number[]} ends
 * @param {number[]} times
 * @param {number} later
 * @returns {Message[]}
 */
function ofKind(kind, amounts, ends, times, later) {
  return amounts.flatMap((amount, agent) => {
    const [from, to] = ends(agent);
    return Array.from({ length: amount }, (_, i) => {
      // As many meetings as messages: then it is known when. Else they are spread evenly.
      const at = times.length === amount ? times[i] : (i + 1) / amount;
      return { kind, from, to, amount: 1, at: at + later };
    });
  });
}

/**
 * An agent sends the same number to each neighbour, for every round uses every link.
 * @param {number[]} amounts
 * @param {Method} method
 * @returns {Message[]}
 */
function exchanges(amounts, { links }) {
  /** @type {number[][]} */
  const neighbours = amounts.map(() => []);
  for (const [one, other] of links) {
    neighbours[one]?.push(other);
    neighbours[other]?.push(one);
  }
  return amounts.flatMap((amount, from) => {
    const each = Math.round(amount / Math.max(neighbours[from].length, 1));
    return neighbours[from].flatMap((to) =>
      Array.from({ length: each }, (_, i) => {
        return { kind: /** @type {const} */ ("exchange"), from, to, amount: 1, at: i / each };
      }),
    );
  });
}

/** @param {Message[]} messages @returns {Message[]} */
function thinned(messages) {
  if (messages.length <= MOST_DOTS) return messages;
  /** @type {Map<string, Message>} */
  const byLink = new Map();
  for (const message of messages) {
    const key = `${message.kind} ${message.from} ${message.to}`;
    const known = byLink.get(key);
    if (known) known.amount += message.amount;
    else byLink.set(key, { ...message, at: message.kind === "exchange" ? 0.5 : message.at });
  }
  return [...byLink.values()];
}
