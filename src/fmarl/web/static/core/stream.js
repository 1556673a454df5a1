/** From the server's stream of events into the store, through broken connections. */

import { insertByEpoch } from "./store.js";

/** @import { Compared, EventKinds, Line, Run, RunEvent, RunInfo, Store, Topic } from "./store.js" */

/** Tries in a row after which the page says that the server has ended. It goes on trying. */
const TRIES = 3;
const PAUSE_MS = 3000;
/** A server that starts anew has told of every run after so long. */
const ROLL_CALL_MS = 5000;
/** Events that are kept of a run: all, unless a run went wrong for days. */
const MOST_EVENTS = 5000;

/**
 * What each event about a known run changes, and how.
 * @type {Record<string, [Topic, (run: Run, data: any) => void]>}
 */
const EVENTS = {
  lines: ["lines", takeLines],
  reset: ["lines", (run) => Object.assign(run, noLines())],
  events: ["events", takeEvents],
  frames: ["frames", (run, { epochs }) => Object.assign(run, { frames: epochs })],
  gone: ["runs", (run) => Object.assign(run, { gone: true })],
};

/**
 * Listen for as long as the page is open.
 * @param {Store} store
 */
export function listen(store) {
  let failures = 0;

  /** @param {Store["state"]["connection"]} connection */
  function say(connection) {
    store.state.connection = connection;
    store.touch("connection");
  }

  function open() {
    const source = new EventSource("/stream");
    source.onopen = () => {
      failures = 0;
      say("live");
    };
    source.onerror = () => {
      failures += 1;
      say(failures > TRIES ? "ended" : "reconnecting");
      // The browser tries again by itself, except after an answer that is no stream.
      if (source.readyState === EventSource.CLOSED) setTimeout(open, PAUSE_MS);
    };
    source.addEventListener("hello", ({ data }) => startAnew(store, JSON.parse(data)));
    source.addEventListener("run", ({ data }) => takeRun(store, JSON.parse(data)));
    source.addEventListener("compared", ({ data }) => takeCompared(store, JSON.parse(data)));
    source.addEventListener("copy", ({ data }) => dropCopy(store, JSON.parse(data)));
    for (const [name, [topic, take]] of Object.entries(EVENTS)) {
      source.addEventListener(name, (event) => {
        const data = JSON.parse(event.data);
        const run = store.state.runs.get(data.run);
        if (!run) return;
        take(run, data);
        store.touch(topic);
      });
    }
  }

  open();
}

/**
 * The server tells everything from the beginning: what it does not tell again is not there.
 * @param {Store} store
 * @param {{event_kinds: EventKinds}} hello
 */
function startAnew(store, hello) {
  store.state.eventKinds = hello.event_kinds;
  const told = new Map([...store.state.runs.values()].map((run) => [run, run.info]));
  for (const run of told.keys()) Object.assign(run, noLines(), { events: [], frames: [] });
  setTimeout(() => {
    for (const [run, info] of told) run.gone ||= run.info === info;
    store.touch("runs");
  }, ROLL_CALL_MS);
}

/** @param {Store} store @param {RunInfo} info */
function takeRun(store, info) {
  const { runs } = store.state;
  const known = runs.get(info.run);
  if (known) Object.assign(known, { info, gone: false });
  else runs.set(info.run, newRun(info, lookOf(runs, info.group)));
  store.touch("runs");
}

/** @param {Store} store @param {{runs: Record<string, Compared>}} given */
function takeCompared(store, given) {
  for (const [id, compared] of Object.entries(given.runs)) {
    const run = store.state.runs.get(id);
    if (run) run.compared = compared;
  }
  store.touch("runs");
}

/** The same run is shown from another folder from now on. @param {Store} store @param {any} data */
function dropCopy(store, data) {
  store.state.runs.delete(data.run);
  store.touch("runs");
}

/** @param {RunInfo} info @param {number} look @returns {Run} */
function newRun(info, look) {
  const compared = { world: "", settings: [], folder: "", copies: [] };
  const nothing = { ...noLines(), events: [], frames: [], about: null, gone: false };
  return { id: info.run, info, compared, look, ...nothing };
}

/** @returns {Pick<Run, "start" | "baseline" | "epochs" | "tests">} */
function noLines() {
  return { start: null, baseline: null, epochs: [], tests: [] };
}

/**
 * The look of the runs that differ in nothing but the seed, else the next that is free.
 * @param {Map<string, Run>} runs
 * @param {string} group
 */
function lookOf(runs, group) {
  let free = 0;
  for (const run of runs.values()) {
    if (run.info.group === group) return run.look;
    free = Math.max(free, run.look + 1);
  }
  return free;
}

/** @param {Run} run @param {{events: RunEvent[]}} given */
function takeEvents(run, { events }) {
  run.events = [...run.events, ...events].slice(-MOST_EVENTS);
}

/** @param {Run} run @param {{lines: Line[]}} given */
function takeLines(run, { lines }) {
  for (const line of lines) {
    if (line.kind === "epoch") insertByEpoch(run.epochs, line);
    else if (line.kind === "test") insertByEpoch(run.tests, line);
    else if (line.kind === "start" || line.kind === "baseline") run[line.kind] = line;
  }
}
