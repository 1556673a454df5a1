/**
 * The one place that holds state: what the server has said of the runs, and how they are looked at.
 *
 * Whoever changes something names its topic. Listeners are called once before a frame of the screen,
 * so that a thousand lines cost one drawing, and a tab that nobody sees costs none.
 */

import { isNumber } from "./format.js";

/**
 * @typedef {"runs" | "lines" | "events" | "frames" | "about" | "view" | "clock" | "theme"
 *   | "connection"} Topic
 * @typedef {Record<string, {words: string, severity: string}>} EventKinds By code.
 * @typedef {Record<string, any>} Line A line of metrics, as the contract has it.
 * @typedef {object} Run
 * @property {string} id
 * @property {Record<string, any>} info The newest `run` event.
 * @property {Line | null} start
 * @property {Line | null} baseline
 * @property {Line[]} epochs By epoch.
 * @property {Line[]} tests By epoch.
 * @property {Record<string, any>[]} events
 * @property {number[]} frames Test epochs that can be replayed.
 * @property {Record<string, any> | null} about
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
      /** @type {"test" | "train" | "bytes"} What the curves show. */
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

/** @typedef {ReturnType<typeof createStore>} Store */

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
 * @param {Store["state"]["view"]} view
 * @returns {number | null}
 */
export function spokenEpoch(view) {
  return view.follow ? null : view.epoch;
}
