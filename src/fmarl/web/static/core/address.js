/** The address says what is looked at: a reload, a link and the way back show the same again. */

import { canCompare } from "./run_words.js";

/** @import { Measure, Store } from "./store.js" */

/**
 * @typedef {object} Address What an address can say; nothing of it is needed.
 * @property {string | null} run Whom to look at.
 * @property {string | null} beside The run beside it.
 * @property {string[]} hidden Runs without a curve.
 * @property {Measure} measure What the curves show.
 * @property {number | null} epoch Test epoch on the road; null: the newest.
 * @property {number | null} step Where the replay is paused; null: it plays.
 * @property {string | null} panel To which a page that scrolls has been scrolled.
 */

const MEASURES = /** @type {const} */ (["test", "train", "bytes"]);
/** Names of runs and panels. */
const NAME = /^[A-Za-z0-9._-]{1,255}$/;
const WHOLE_NUMBER = /^\d{1,9}$/;
const MOST_HIDDEN = 200;
/** Quick changes are one; browsers also forbid many changes of the address in a short time. */
const SETTLED_MS = 250;

/**
 * What a fragment such as `#run=a&epoch=6` says; whatever else is in it is left out.
 * @param {string} fragment
 * @returns {Address}
 */
export function readAddress(fragment) {
  const given = new URLSearchParams(fragment.slice(1));
  const name = (/** @type {string} */ key) => given.getAll(key).find((text) => NAME.test(text));
  const whole = (/** @type {string} */ key) => {
    const text = given.get(key) ?? "";
    return WHOLE_NUMBER.test(text) ? Number(text) : null;
  };
  return {
    run: name("run") ?? null,
    beside: name("beside") ?? null,
    hidden: given.getAll("hide").filter((text) => NAME.test(text)).slice(0, MOST_HIDDEN),
    measure: MEASURES.find((measure) => measure === given.get("curves")) ?? "test",
    epoch: whole("epoch"),
    step: whole("step"),
    panel: name("panel") ?? null,
  };
}

/**
 * The fragment that says it; empty if there is nothing to say.
 * @param {Address} address
 */
export function writeAddress({ run, beside, hidden, measure, epoch, step, panel }) {
  const curves = measure === "test" ? null : measure;
  const words = Object.entries({ run, beside, curves, epoch, step, panel });
  const said = new URLSearchParams();
  for (const [key, value] of words) if (value !== null) said.append(key, String(value));
  for (const name of hidden) said.append("hide", name);
  return said.size ? `#${said}` : "";
}

/** @param {Store} store */
export function makeAddress(store) {
  const { view, runs } = store.state;
  /** @type {Address | null} What was asked for and could not be shown yet. */
  let asked = null;
  /** @type {string | null} */
  let panel = null;
  let [settled, timer] = [location.hash, 0];

  function current() {
    const isAtATime = !view.follow || !view.playing;
    return {
      run: view.chosen || isAtATime ? view.focus : null,
      beside: view.pinned,
      hidden: [...view.hidden],
      measure: view.measure,
      epoch: view.follow ? null : view.epoch,
      step: view.playing ? null : view.step,
      panel,
    };
  }

  /** Show what the address says, as far as it is known; the rest when it comes. */
  function take() {
    if (location.hash && !location.hash.includes("=")) {
      history.replaceState(null, "", settled || location.pathname); // a jump within the page
      return;
    }
    clearTimeout(timer);
    settled = location.hash;
    asked = readAddress(settled);
    const { hidden, measure } = asked;
    const usual = { chosen: false, pinned: null, follow: true, playing: true };
    store.look({ hidden: new Set(hidden), measure, ...usual });
    showAsked();
  }

  function showAsked() {
    if (!asked || (asked.run && !runs.has(asked.run))) return;
    if (asked.run) store.look({ focus: asked.run, chosen: true });
    asked.run = null;
    showBeside(asked);
    showTime(asked);
    showPanel(asked);
    const { beside, epoch, step, panel } = asked;
    if ([beside, epoch, step, panel].every((left) => left === null)) asked = null;
  }

  /** @param {Address} asked */
  function showBeside(asked) {
    const run = runs.get(asked.beside ?? "");
    if (!run || !canCompare(run, store.focused)) return;
    store.look({ pinned: run.id });
    asked.beside = null;
  }

  /** An epoch that was not recorded is not shown. @param {Address} asked */
  function showTime(asked) {
    const recorded = store.focused?.frames ?? [];
    const newest = recorded.at(-1);
    if (newest === undefined) return;
    if (asked.epoch !== null && recorded.includes(asked.epoch)) {
      store.look({ epoch: asked.epoch, follow: false, step: 0 });
    } else if (asked.step !== null) {
      store.look({ epoch: newest });
    }
    if (asked.step !== null) store.look({ step: asked.step, playing: false }, "clock");
    Object.assign(asked, { epoch: null, step: null });
  }

  /** @param {Address} asked */
  function showPanel(asked) {
    if (!asked.panel || !store.focused?.start || !store.focused.about) return;
    const section = panels().find((one) => panelName(one) === asked.panel);
    if (section && isScrolling()) section.scrollIntoView();
    asked.panel = null;
  }

  function change() {
    if (asked) return;
    const said = writeAddress(current());
    if (said === settled) return;
    settled = said;
    clearTimeout(timer);
    timer = setTimeout(write, SETTLED_MS);
  }

  /** Another choice is a step of the way back; another moment of the same replay is none. */
  function write() {
    const isChoice = choices(settled) !== choices(location.hash);
    const address = settled || location.pathname;
    if (isChoice) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  }

  /** Whoever does something does not wait any more for what the address asked for. */
  function forget() {
    asked = null;
  }

  take();
  addEventListener("popstate", take);
  for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, forget, { capture: true });
  addEventListener("scrollend", () => {
    panel = isScrolling() ? panelInView() : null;
    change();
  });
  store.on(["runs", "frames", "about", "lines"], showAsked);
  store.on(["view", "clock"], change);
}

/** A fragment without the moment. @param {string} fragment */
function choices(fragment) {
  return writeAddress({ ...readAddress(fragment), step: null, panel: null });
}

function isScrolling() {
  return document.documentElement.scrollHeight > innerHeight + 1;
}

function panels() {
  return [...document.querySelectorAll("main > section")].filter((one) => one.checkVisibility());
}

/** @param {Element} section */
function panelName(section) {
  return section.getAttribute("aria-labelledby")?.replace("title-", "") ?? null;
}

/** The first panel that reaches below the upper third of the window; none at the very top. */
function panelInView() {
  if (scrollY < 1) return null;
  const found = panels().find((one) => one.getBoundingClientRect().bottom > innerHeight / 3);
  return found ? panelName(found) : null;
}
