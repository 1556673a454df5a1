/** What went wrong, or was put right: the newest first. */

import { byId, element } from "../core/dom.js";
import { timeOfDay } from "../core/format.js";

/** @import { EventKinds, Run, RunEvent, Store } from "../core/store.js" */

const MOST_SHOWN = 12;

/** @param {Store} store */
export function makeEvents(store) {
  const [panel, list] = [byId("events"), byId("events-list")];
  const { state } = store;

  /**
   * What is there for debugging only is of no interest to whoever watches.
   * @param {RunEvent} given
   */
  function isShown({ code }) {
    return state.eventKinds[code]?.severity !== "debug";
  }

  function draw() {
    const all = [...state.runs.values()].flatMap((run) =>
      run.events.filter(isShown).map((event) => ({ run, event })),
    );
    all.sort((one, other) => (one.event.time < other.event.time ? 1 : -1));
    panel.hidden = all.length === 0;
    list.replaceChildren(...all.slice(0, MOST_SHOWN).map(item));
  }

  /** @param {{run: Run, event: RunEvent}} given */
  function item({ run, event }) {
    const made = element("li");
    const time = element("time", "", timeOfDay(event.time));
    time.dateTime = event.time;
    made.append(time, ` ${run.info.name} ${eventWords(event, state.eventKinds)}`);
    return made;
  }

  store.on(["events", "runs"], draw);
}

/**
 * @param {RunEvent} event
 * @param {EventKinds} kinds
 */
export function eventWords(event, kinds) {
  const { time: _time, code, detail, ...facts } = event;
  const what = kinds[code]?.words ?? String(code).toLowerCase().replaceAll("_", " ");
  const pairs = Object.entries(facts);
  const more = pairs.map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);
  if (detail) more.push(detail);
  return more.length ? `${what} (${more.join(", ")})` : what;
}
