/**
 * The one place that holds state: what the server has said of the runs, and how they are looked at.
 *
 * Whoever changes something names its topic. Listeners are called once before a frame of the
 * screen, so that a thousand lines cost one drawing, and a tab that nobody sees costs none.
 */

import { isNumber } from "./format.js";
/** @import { Road } from "../road/vehicles.js" */

/**
 * @typedef {"runs" | "lines" | "events" | "frames" | "about" | "view" | "clock" | "theme"
 *   | "connection"} Topic
 * @typedef {Record<string, {words: string, severity: string}>} EventKinds By code.
 * @typedef {"test" | "train" | "bytes"} Measure
 *
 * @typedef {object} Line A line of metrics, as `web/tail.py` sends it.
 * @property {"start" | "baseline" | "epoch" | "test"} kind
 * @property {number} epoch
 * @property {number} update_count
 * @property {number} [num_agents]
 * @property {number | null} [mean]
 * @property {boolean[]} [crashed]
 * @property {number | null} [train_reward]
 * @property {number | null} [gradient_norm]
 * @property {number | null} [expected_gradient_norm]
 * @property {number} [uploads]
 * @property {number} [downloads]
 * @property {number} [updates]
 * @property {number} [exchanges]
 * @property {number} [mixings]
 * @property {number} [relays]
 * @property {number} [bytes_sent]
 * @property {Record<string, number[]>} [ledger] By name of what is counted and agent.
 * @property {Record<string, number>} [expected] The closed form of what is counted.
 *
 * @typedef {object} RunInfo What a run is and how it stands, as `web/tail.py` sends it.
 * @property {string} run
 * @property {string} name
 * @property {string} label
 * @property {string} world
 * @property {string} algorithm
 * @property {string} method
 * @property {number} seed
 * @property {string} measure
 * @property {number} num_epochs
 * @property {string} group
 * @property {string} state
 * @property {string} problem
 * @property {string} [failure] Why it failed, in one line.
 *
 * @typedef {object} Compared What tells a run from the others, as `web/run_registry.py` sends it.
 * @property {string} world Empty if all are of one world.
 * @property {string[]} settings Those in which runs of its label differ.
 * @property {string} folder Empty if all else tells it apart.
 * @property {string[]} copies Other folders that hold this same run.
 *
 * @typedef {object} Method How agents learn together, as `web/run_facts.py` has it.
 * @property {number} sync_period
 * @property {number[][]} local_updates By period and agent.
 * @property {number[][]} groups
 * @property {number[]} edge_agents
 * @property {number[][]} links
 * @property {number} consensus_rounds
 * @property {boolean} averages
 * @property {string} aggregate
 * @property {number} tolerated
 * @property {number[]} attackers
 * @property {number} attack_factor
 * @property {number} attack_noise
 * @property {number} uplink_delay
 * @property {number} downlink_delay
 * @property {number} adopt_every
 * @property {number} [algebraic_connectivity]
 * @property {number} [contraction]
 *
 * @typedef {object} About What does not change while a run goes, as `web/run_facts.py` has it.
 * @property {number | null} num_agents
 * @property {Road | null} road
 * @property {Method | null} method
 * @property {Record<string, number>} prices
 * @property {{text: string, updates?: number[], values?: number[]}} bound
 *
 * @typedef {{time: string, code: string, detail?: string, [fact: string]: any}} RunEvent
 *
 * @typedef {object} Run
 * @property {string} id
 * @property {RunInfo} info The newest `run` event.
 * @property {Compared} compared The newest of it.
 * @property {Line | null} start
 * @property {Line | null} baseline
 * @property {Line[]} epochs By epoch.
 * @property {Line[]} tests By epoch.
 * @property {RunEvent[]} events
 * @property {number[]} frames Test epochs that can be replayed.
 * @property {About | null} about
 * @property {boolean} gone Whether its folder was deleted.
 * @property {number} look Number of its colour and dashes; runs that differ by seed share one.
 */

export function createStore() {
  const state = {
    /** @type {Map<string, Run>} */
    runs: new Map(),
    /** @type {EventKinds} What each code of event means, as the server says. */
    eventKinds: {},
    /** @type {"connecting" | "live" | "reconnecting" | "ended"} */
    connection: "connecting",
    /** How runs are looked at. */
    view: {
      /** @type {string | null} Run whose road, graph and meters are shown. */
      focus: null,
      /** @type {string | null} Run beside it. */
      pinned: null,
      /** Whether a person chose the focus; else it goes where something happens. */
      chosen: false,
      /** @type {Set<string>} Runs whose curve is not drawn. */
      hidden: new Set(),
      /** Whether the newest epoch is shown. */
      follow: true,
      playing: true,
      speed: 4,
      /** @type {number | null} Test epoch on the road. */
      epoch: null,
      step: 0,
      /** @type {Measure} What the curves show. */
      measure: "test",
    },
  };
  /** @type {{wanted: Topic[], listener: () => void}[]} */
  const listeners = [];
  /** @type {Set<Topic>} */
  let changed = new Set();

  function tellAll() {
    const topics = changed;
    changed = new Set();
    for (const { wanted, listener } of listeners) {
      if (wanted.some((topic) => topics.has(topic))) listener();
    }
  }

  return {
    state,
    /** @param {Topic[]} wanted @param {() => void} listener */
    on(wanted, listener) {
      listeners.push({ wanted, listener });
    },
    /** @param {Topic[]} topics */
    touch(...topics) {
      if (changed.size === 0) requestAnimationFrame(tellAll);
      for (const topic of topics) changed.add(topic);
    },
    /** Tell at once of what has changed: a printer does not wait for the next frame. */
    flush: tellAll,
    /** @param {Partial<typeof state.view>} changes @param {Topic} [topic] */
    look(changes, topic = "view") {
      Object.assign(state.view, changes);
      this.touch(topic);
    },
    /** @returns {Run | null} */
    get focused() {
      return state.runs.get(state.view.focus ?? "") ?? null;
    },
    /** @returns {Run | null} */
    get pinned() {
      return state.runs.get(state.view.pinned ?? "") ?? null;
    },
  };
}

/**
 * @typedef {ReturnType<typeof createStore>} Store
 * @typedef {Store["state"]["view"]} View
 */

/**
 * Put a line where its epoch belongs; one of the same epoch is replaced.
 * @param {Line[]} lines
 * @param {Line} line
 */
export function insertByEpoch(lines, line) {
  let place = lines.length;
  while (place > 0 && lines[place - 1].epoch > line.epoch) place -= 1;
  const same = place > 0 && lines[place - 1].epoch === line.epoch;
  lines.splice(same ? place - 1 : place, same ? 1 : 0, line);
}

/**
 * The line of an epoch, or the last one before it.
 * @param {Line[]} lines
 * @param {number | null} epoch Null for the newest.
 * @returns {number} Its place, −1 if there is none.
 */
export function placeOfEpoch(lines, epoch) {
  let place = lines.length - 1;
  while (isNumber(epoch) && place >= 0 && lines[place].epoch > epoch) place -= 1;
  return place;
}

/**
 * The epoch that graph and meters speak of: the newest while following, else the one on the road.
 * @param {View} view
 * @returns {number | null}
 */
export function spokenEpoch(view) {
  return view.follow ? null : view.epoch;
}
