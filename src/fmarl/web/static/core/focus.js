/** Which run is looked at while nobody has chosen one: where most is to be seen. */

/** @import { Api } from "./api.js" */
/** @import { Run, Store } from "./store.js" */

/**
 * @param {Store} store
 * @param {Api} api
 */
export function makeFocus(store, api) {
  function choose() {
    const { runs, view } = store.state;
    const now = store.focused;
    const wanted = now && view.chosen ? now : liveliest([...runs.values()], now);
    if (wanted && wanted !== now && wanted.id !== view.pinned) store.look({ focus: wanted.id });
    for (const run of [store.focused, store.pinned]) if (run) api.about(run);
  }

  store.on(["runs", "view", "lines", "connection"], choose);
}

/**
 * The run with most to see; the one that is looked at stays unless another has more.
 * @param {Run[]} runs
 * @param {Run | null} now
 * @returns {Run | null}
 */
export function liveliest(runs, now) {
  let best = now;
  for (const run of runs) if (!best || liveliness(run) > liveliness(best)) best = run;
  return best;
}

/**
 * That it goes on counts most, then neighbours that talk, then a virtual agent that is told.
 * @param {Run} run
 */
function liveliness(run) {
  if (run.gone || run.info.state === "damaged") return -1;
  const line = run.epochs.at(-1);
  const goes = Number(run.info.state === "running");
  return 4 * goes + 2 * Number((line?.exchanges ?? 0) > 0) + Number((line?.uploads ?? 0) > 0);
}
