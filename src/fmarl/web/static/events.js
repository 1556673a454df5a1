/** What went wrong, or was put right: the newest first. */

import { byId, element } from "./dom.js";
import { timeOfDay } from "./format.js";

const MOST_SHOWN = 12;
const WORDS = {
  RESUMED: "went on from its checkpoint",
  STOPPED: "was stopped",
  WORLD_CRASHED: "lost a world",
  WORLD_HUNG: "had a world that did not answer",
  WORLD_RESTORED: "has its world back, where it was",
  NONFINITE: "had a step that was not a number",
  LINE_CUT: "had a line cut short, and dropped it",
  AGENT_LOST: "lost an agent",
  AGENT_LATE: "does not hear of an agent",
  AGENT_RETURNED: "hears of an agent again",
  AGENT_REPLACED: "has a new process for an agent",
  AGENT_REVIVED: "has an agent back that missed nothing",
  AGENT_QUARANTINED: "shut an agent out",
  NOT_STARTED: "waits for a process that did not start",
  PERIOD_WITHOUT: "counted a period without some agents",
  PERIOD_FAILED: "plays a period again",
  PERIOD_ABANDONED: "gave a period up, for too few agents were there",
  QUORUM_LOST: "stopped, for too few agents were there",
  WORLD_LOST: "lost a world, and made another",
  VIRTUAL_LOST: "lost its virtual agent, and made another",
  BAD_PAYLOAD: "refused an upload that was not right",
  BAD_CLAIM: "refused an upload that claimed another τ_i",
  STALE: "refused an upload that was too late",
  DUPLICATE: "refused an upload that came twice",
  OUTLIER: "has an agent that is far from the others",
  HOST_LOST: "lost its host, and goes on at another",
};
/** Of no interest to whoever watches. */
const UNTOLD = new Set(["ACTOR_STARTED"]);

/** @param {import("./store.js").Store} store */
export function makeEvents(store) {
  const [panel, list] = [byId("events"), byId("events-list")];

  function draw() {
    const all = [...store.state.runs.values()].flatMap((run) =>
      run.events.filter(({ code }) => !UNTOLD.has(code)).map((event) => ({ run, event })),
    );
    all.sort((one, other) => (one.event.time < other.event.time ? 1 : -1));
    panel.hidden = all.length === 0;
    list.replaceChildren(...all.slice(0, MOST_SHOWN).map(item));
  }

  store.on(["events", "runs"], draw);
}

function item({ run, event }) {
  const made = element("li");
  const time = element("time", "", timeOfDay(event.time));
  time.dateTime = event.time;
  made.append(time, ` ${run.info.name} ${eventWords(event)}`);
  return made;
}

/** @param {Record<string, any>} event */
export function eventWords(event) {
  const { time: _time, code, detail, ...facts } = event;
  const what = WORDS[code] ?? String(code).toLowerCase().replaceAll("_", " ");
  const pairs = Object.entries(facts);
  const more = pairs.map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);
  if (detail) more.push(detail);
  return more.length ? `${what} (${more.join(", ")})` : what;
}
