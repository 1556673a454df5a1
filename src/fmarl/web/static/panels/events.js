/** What went wrong, or was put right: the newest first. */

import { byId, element, setText } from "../core/dom.js";
import { dateAndTime, plural } from "../core/format.js";

/** @import { EventKinds, Run, RunEvent, Store } from "../core/store.js" */

/** More than anybody reads, and no more than a browser lays out at once. */
const MOST_SHOWN = 1000;

/** @param {Store} store */
export function makeEvents(store) {
  const [panel, list] = [byId("events"), byId("events-list")];
  const count = byId("events-count");
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
    setText(count, all.length > 1 ? String(all.length) : "");
    const left = all.length - MOST_SHOWN;
    const rest = `${plural(left, "older event")} in the runs’ events.jsonl`;
    const more = left > 0 ? [element("li", "", rest)] : [];
    list.replaceChildren(...all.slice(0, MOST_SHOWN).map(item), ...more);
  }

  /** @param {{run: Run, event: RunEvent}} given */
  function item({ run, event }) {
    const made = element("li");
    const time = element("time", "", dateAndTime(event.time));
    time.dateTime = event.time;
    const words = `${run.info.name} ${eventWords(event, state.eventKinds)}`;
    made.append(time, " ", element("span", "", words));
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
