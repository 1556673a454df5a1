/** Which messages an epoch had, read off the ledger, and when in the epoch they were sent. */

/**
 * @typedef {import("../core/store.js").Line} Line
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
 * @param {Record<string, any>} method
 * @returns {Message[]}
 */
export function messagesBetween(before, line, method) {
  if (!line?.ledger) return [];
  const sent = (name) => {
    const since = before?.ledger?.[name] ?? [];
    return line.ledger[name].map((total, agent) => total - (since[agent] ?? 0));
  };
  const meetings = syncTimes(before?.update_count ?? 0, line.update_count, method.sync_period);
  return thinned([
    ...ofKind("upload", sent("uploads"), (agent) => [agent, -1], meetings, 0),
    ...ofKind("download", sent("downloads"), (agent) => [-1, agent], meetings, 0.1),
    ...exchanges(sent("exchanges"), method),
  ]);
}

/** When the virtual agent is spoken to: after the last slot of each period that ends here. */
function syncTimes(first, end, period) {
  const times = [];
  for (let slot = first; slot < end; slot += 1) {
    if ((slot + 1) % period === 0) times.push((slot + 1 - first) / (end - first));
  }
  return times;
}

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

/** An agent sends the same number to each neighbour, for every round uses every link. */
function exchanges(amounts, { links }) {
  const neighbours = amounts.map(() => []);
  for (const [one, other] of links) {
    neighbours[one]?.push(other);
    neighbours[other]?.push(one);
  }
  return amounts.flatMap((amount, from) => {
    const each = Math.round(amount / Math.max(neighbours[from].length, 1));
    const message = { kind: "exchange", from, amount: 1 };
    return neighbours[from].flatMap((to) =>
      Array.from({ length: each }, (_, i) => ({ ...message, to, at: i / each })),
    );
  });
}

function thinned(messages) {
  if (messages.length <= MOST_DOTS) return messages;
  const byLink = new Map();
  for (const message of messages) {
    const key = `${message.kind} ${message.from} ${message.to}`;
    const known = byLink.get(key);
    if (known) known.amount += message.amount;
    else byLink.set(key, { ...message, at: message.kind === "exchange" ? 0.5 : message.at });
  }
  return [...byLink.values()];
}
