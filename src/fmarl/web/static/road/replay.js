/** The clock of the shown test epoch, and the controls that move it. */

import { byId, radios, setText } from "../core/dom.js";
import { clock } from "../core/format.js";

/** @import { Api } from "../core/api.js" */
/** @import { Run, Store } from "../core/store.js" */

/** A loop rests on its last step, so that an end is seen as one. */
const REST_SECONDS = 1.2;
/** A tab that slept must not jump by the time it slept. */
const LONGEST_FRAME_SECONDS = 0.1;

/**
 * The recorded epoch that is shown when `epoch` is wanted: that one, else the last before it.
 * @param {number[]} recorded In order.
 * @param {number | null} epoch
 * @returns {number | null}
 */
export function epochFor(recorded, epoch) {
  if (epoch === null) return recorded.at(-1) ?? null;
  return recorded.findLast((candidate) => candidate <= epoch) ?? recorded[0] ?? null;
}

/**
 * @param {Store} store
 * @param {Api} api
 * @param {MediaQueryList} reduced Whether motion is unwanted.
 * @param {() => void} restarted Called when the epoch begins anew.
 */
export function makeReplay(store, api, reduced, restarted) {
  const [playButton, followButton] = [byId("play", HTMLButtonElement), byId("follow")];
  const [epochSlider, stepSlider] = ["epoch", "step"].map((id) => byId(id, HTMLInputElement));
  const [epochText, stepText, ticks] = ["epoch-text", "step-text", "ticks"].map((id) => byId(id));
  const speeds = radios("speed");
  const { view } = store.state;
  /** Parts of a step that have passed, and the rest at the end, in seconds of the watcher. */
  let [fraction, rested, last] = [0, 0, 0];

  /** @param {Run | null} run */
  function framesOf(run) {
    const epoch = run?.about?.road ? epochFor(run.frames, view.epoch) : null;
    return run === null || epoch === null ? null : api.frames(run, epoch);
  }

  function lastStep() {
    return Math.max(...[store.focused, store.pinned].map((run) => framesOf(run)?.steps ?? 1)) - 1;
  }

  /** @param {number} step */
  function goToStep(step) {
    fraction = 0;
    store.look({ step: Math.min(Math.max(step, 0), lastStep()) }, "clock");
  }

  /** @param {number} amount */
  function stepBy(amount) {
    store.look({ playing: false, chosen: true });
    goToStep(view.step + amount);
  }

  /**
   * By so many recorded epochs; whoever looks at an old one does not follow the newest.
   * @param {number} amount
   */
  function epochBy(amount) {
    const recorded = store.focused?.frames ?? [];
    const now = recorded.indexOf(epochFor(recorded, view.epoch) ?? -1);
    const place = Math.min(Math.max(now + amount, 0), recorded.length - 1);
    if (place >= 0) goToEpoch(recorded[place]);
  }

  /** @param {number} epoch */
  function goToEpoch(epoch) {
    store.look({ epoch, follow: false, chosen: true });
    goToStep(0);
  }

  /** @param {boolean} wanted */
  function follow(wanted) {
    store.look({ follow: wanted });
    if (wanted) catchUp();
  }

  /** @param {boolean} wanted */
  function play(wanted) {
    if (reduced.matches) return;
    if (wanted && view.step >= lastStep()) goToStep(0);
    store.look({ playing: wanted });
  }

  /** While following, a newer recorded epoch takes the place of the one shown. */
  function catchUp() {
    const run = store.focused;
    const newest = run?.frames.at(-1) ?? null;
    if (!view.follow || newest === view.epoch) return;
    // The old one stays until the new one is here; `frames` is told of that.
    if (run?.about?.road && newest !== null && !api.frames(run, newest)) return;
    store.look({ epoch: newest });
    goToStep(0);
  }

  /** One frame of the screen. @param {number} now @returns {boolean} Whether anything moves. */
  function tick(now) {
    const passed = Math.min((now - last) / 1000, LONGEST_FRAME_SECONDS);
    last = now;
    const road = store.focused?.about?.road;
    if (!view.playing || reduced.matches || !road || !framesOf(store.focused)) return false;
    const end = lastStep();
    if (view.step >= end) {
      rested += passed;
      if (rested < REST_SECONDS) return true;
      goToStep(0);
      restarted();
      return true;
    }
    rested = 0;
    fraction += (passed * view.speed) / road.step_seconds;
    const steps = Math.floor(fraction);
    if (steps === 0) return true;
    fraction -= steps;
    store.look({ step: Math.min(view.step + steps, end) }, "clock");
    return true;
  }

  function show() {
    const recorded = store.focused?.frames ?? [];
    const epoch = epochFor(recorded, view.epoch);
    const seconds = store.focused?.about?.road?.step_seconds ?? 0;
    const steps = lastStep();
    if (view.step > steps && framesOf(store.focused)) goToStep(steps);
    setRange(epochSlider, recorded.indexOf(epoch ?? -1), recorded.length - 1, epochWords(epoch));
    setRange(stepSlider, Math.min(view.step, steps), steps, `step ${view.step}`);
    setText(epochText, epoch === null ? "–" : String(epoch));
    setText(stepText, `${clock(view.step * seconds)} / ${clock(steps * seconds)}`);
    ticks.style.setProperty("--gaps", String(Math.max(recorded.length - 1, 1)));
    ticks.hidden = recorded.length < 2 || recorded.length > 60;
    showButtons();
  }

  function showButtons() {
    const canPlay = !reduced.matches && framesOf(store.focused) !== null;
    const playing = view.playing && canPlay;
    playButton.dataset.playing = String(playing);
    playButton.setAttribute("aria-label", playing ? "Pause" : "Play");
    playButton.disabled = !canPlay;
    playButton.title = reduced.matches
      ? "Your system asks for less motion: move by the sliders or the arrow keys"
      : "Play or pause (space)";
    followButton.setAttribute("aria-pressed", String(view.follow));
    for (const speed of speeds) speed.checked = Number(speed.value) === view.speed;
  }

  playButton.addEventListener("click", () => play(!view.playing));
  followButton.addEventListener("click", () => follow(!view.follow));
  epochSlider.addEventListener("input", () => {
    if (store.focused) goToEpoch(store.focused.frames[Number(epochSlider.value)]);
  });
  stepSlider.addEventListener("input", () => {
    store.look({ playing: false });
    goToStep(Number(stepSlider.value));
  });
  for (const speed of speeds) {
    speed.addEventListener("change", () => store.look({ speed: Number(speed.value) }));
  }
  reduced.addEventListener("change", () => store.touch("view"));
  store.on(["frames", "view", "runs"], catchUp);
  store.on(["frames", "view", "clock", "about", "runs"], show);

  return { tick, stepBy, goToStep, epochBy, follow, play };
}

/** @typedef {ReturnType<typeof makeReplay>} Replay */

/** @param {number | null} epoch */
function epochWords(epoch) {
  return epoch === null ? "nothing recorded yet" : `test after epoch ${epoch}`;
}

/**
 * @param {HTMLInputElement} input
 * @param {number} value
 * @param {number} max
 * @param {string} words
 */
function setRange(input, value, max, words) {
  input.max = String(Math.max(max, 0));
  input.value = String(Math.max(value, 0));
  input.setAttribute("aria-valuetext", words);
  input.disabled = max < 1;
  input.style.setProperty("--filled", `${max > 0 ? (100 * value) / max : 0}%`);
}
