/** What the page says of itself: the connection, the run in focus, and what is the matter. */

import { byId, setText } from "../core/dom.js";
/** @import { Run, Store } from "../core/store.js" */

/** @param {Store} store */
export function makeStatus(store) {
  const [connection, notice, about] = ["connection", "notice", "about"].map((id) => byId(id));
  let hadRoad = true;

  function draw() {
    const { state, focused: run } = store;
    setText(connection, state.connection === "ended" ? "server ended" : state.connection);
    connection.dataset.state = state.connection;
    const said = noticeOf(run, state.connection);
    notice.hidden = !said;
    setText(notice, said);
    setText(about, run ? aboutWords(run) : "");
    // Until it is known whether there is a road, the panels stay where they are.
    if (run?.about) hadRoad = Boolean(run.about.road);
    document.body.dataset.road = String(hadRoad);
    document.body.dataset.pinned = String(Boolean(store.pinned));
    document.body.dataset.empty = String(!run || hasNothing(run));
  }

  draw();
  store.on(["connection", "runs", "view", "about", "lines"], draw);
}

/**
 * What is the matter, if anything is.
 * @param {Run | null} run
 * @param {string} connection
 */
export function noticeOf(run, connection) {
  if (connection === "ended") {
    const stays = run ? " What you see is what it said last." : "";
    return `The server has ended.${stays} Start it again with: fmarl watch`;
  }
  if (!run) {
    if (connection !== "live") return "Connecting …";
    return "Waiting for a run in runs/ … Start one with: fmarl train figure-eight";
  }
  if (run.gone) return `The folder of ${run.info.name} was deleted. What you see was read before.`;
  if (run.info.problem) return run.info.problem;
  if (run.info.state === "failed") return `${run.info.name} failed: ${run.info.failure}`;
  if (!run.start) return `${run.info.name} is starting: the world is made and the update compiled.`;
  return "";
}

/** It can not be read, or failed before there was anything. @param {Run} run */
function hasNothing({ info, start }) {
  return !start && ["damaged", "failed"].includes(info.state);
}

/** @param {Run} run */
function aboutWords(run) {
  const { name, world, algorithm, num_epochs: last } = run.info;
  const epoch = run.epochs.at(-1)?.epoch ?? 0;
  return world ? `${name} · ${world} · ${algorithm} · epoch ${epoch} of ${last}` : name;
}
