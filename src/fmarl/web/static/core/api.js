/** What is asked for only when it is looked at: the facts of a run, and its frames. */

import { decodeFrames } from "../road/frames.js";

/** @import { Run, Store } from "./store.js" */
/** @import { Frames } from "../road/frames.js" */

/** Epochs kept in memory: one of the merge takes half a megabyte. */
const MOST_KEPT = 32;

/** @param {Store} store */
export function makeApi(store) {
  /** @type {Map<string, Frames>} */
  const kept = new Map();
  /** @type {Set<string>} */
  const asked = new Set();
  /** @type {Map<string, string>} Per run, what was known when its facts were last asked for. */
  const knownThen = new Map();

  /**
   * Facts change when a run starts, and when it is over (its bound): ask again then.
   * @param {Run} run
   */
  async function about(run) {
    const known = `${run.start !== null} ${run.info.state}`;
    const isUnreadable = run.info.state === "damaged" && !run.start;
    if (run.gone || isUnreadable || knownThen.get(run.id) === known) return;
    knownThen.set(run.id, known);
    const answer = await get(`/runs/${encodeURIComponent(run.id)}/about`);
    if (!answer) knownThen.delete(run.id);
    if (!answer?.ok) return;
    run.about = await answer.json();
    store.touch("about");
  }

  /**
   * The frames of an epoch if they are here; else they are asked for, and `frames` is told.
   * @param {Run} run
   * @param {number} epoch
   */
  function frames(run, epoch) {
    const key = `${run.id}/${epoch}`;
    const found = kept.get(key);
    if (found) {
      kept.delete(key); // to the end: last used, last dropped
      kept.set(key, found);
    } else if (!asked.has(key) && !run.gone) {
      asked.add(key);
      load(run, epoch, key);
    }
    return found ?? null;
  }

  /** @param {Run} run @param {number} epoch @param {string} key */
  async function load(run, epoch, key) {
    const answer = await get(`/runs/${encodeURIComponent(run.id)}/frames/${epoch}`);
    if (!answer) {
      asked.delete(key); // the server is away: whoever draws again may ask again
      return;
    }
    const decoded = answer.ok ? decodeFrames(await answer.arrayBuffer()) : null;
    if (!decoded) return; // and is not asked for again
    asked.delete(key);
    kept.set(key, decoded);
    if (kept.size > MOST_KEPT) kept.delete([...kept.keys()][0]);
    store.touch("frames");
  }

  return { about, frames };
}

/** @typedef {ReturnType<typeof makeApi>} Api */

/**
 * @param {string} path
 * @returns {Promise<Response | null>} Null if nobody answers: the connection's state says so.
 */
async function get(path) {
  try {
    return await fetch(path);
  } catch {
    return null;
  }
}
