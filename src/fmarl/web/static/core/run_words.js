/** What a run is called, and what tells it from the others of the list. */

/** @import { Run } from "./store.js" */

/**
 * Its method, after the settings in which others of that name differ: whatever is cut, is the end.
 * @param {Run} run
 */
export function methodName({ info, compared }) {
  return [...compared.settings, info.label].join(" ");
}

/**
 * What tells it apart beside its method and its seed; empty if nothing has to.
 * @param {Run} run
 */
export function differenceWords({ compared: { world, settings, folder } }) {
  return [world, ...settings, folder].filter(Boolean).join(" · ");
}

/** @param {Run} run */
export function copyWords({ compared: { copies } }) {
  return copies.length ? `Copied to ${copies.join(", ")}: one run, counted once.` : "";
}

/** Two runs of one world, on the same clock. @param {Run} run @param {Run | null} focused */
export function canCompare(run, focused) {
  return focused !== null && run !== focused && run.info.world === focused.info.world;
}

/** @param {Run} run */
export function stateOf(run) {
  return run.gone ? "gone" : run.info.state;
}
