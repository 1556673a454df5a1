/** Dark or light, and the colours that canvases paint with: those of the style sheet. */

import { byId } from "./dom.js";

/** @import { Store } from "./store.js" */

const KEPT_AS = "fmarl-theme";
const NUM_SERIES = 8;
/** Pixels on and off: with the colours they tell 32 lines apart. */
const DASHES = [[], [8, 3], [2, 3], [9, 3, 2, 3]];
const NAMES = /** @type {const} */ ([
  ...["ink", "quiet", "faint", "rule", "panel", "asphalt", "kerb", "marking", "car", "alarm"],
  ...["slow", "away", "agent", "upload", "exchange"],
]);

/**
 * @typedef {Record<(typeof NAMES)[number], string>} Colours
 * @typedef {Colours & {series: string[], family: string}} Palette
 * @typedef {{palette: Palette}} Theme
 */

/**
 * Follow the system's wish until the button is pressed; then that is remembered.
 * @param {Store} store
 * @returns {Theme}
 */
export function makeTheme(store) {
  const button = byId("theme");
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const theme = { palette: readPalette() };

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
  }

  /** @param {string | null | undefined} choice */
  function apply(choice) {
    if (choice === "dark" || choice === "light") root.dataset.theme = choice;
    theme.palette = readPalette();
    button.title = `Change to ${isDark() ? "light" : "dark"} colours`;
    button.setAttribute("aria-label", button.title);
    store.touch("theme");
  }

  /** Paper is white: what is painted is painted again in light colours, at its size on paper. */
  function print(/** @type {boolean} */ isPrinting) {
    root.toggleAttribute("data-printing", isPrinting);
    apply(null);
    store.flush();
  }

  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  button.addEventListener("click", () => {
    const choice = isDark() ? "light" : "dark";
    memory()?.setItem(KEPT_AS, choice);
    apply(choice);
  });
  system.addEventListener("change", () => apply(null));
  apply(memory()?.getItem(KEPT_AS));
  return theme;
}

/**
 * Colour and dashes of a run's lines.
 * @param {Palette} palette
 * @param {number} look
 * @returns {{colour: string, dash: number[]}}
 */
export function lineLook(palette, look) {
  return { colour: palette.series[look % NUM_SERIES], dash: dashOf(look) };
}

/**
 * The same dashes as a background in the colour `--look`.
 * @param {number} look
 */
export function dashBackground(look) {
  let end = 0;
  const stops = dashOf(look).map((length, i) => {
    end += length;
    return `${i % 2 ? "transparent" : "var(--look)"} ${end - length}px ${end}px`;
  });
  // A tile and no repeating gradient: printers leave those out.
  const tile = `linear-gradient(90deg, ${stops.join(", ")}) 0 0 / ${end}px 100%`;
  return stops.length ? tile : "var(--look)";
}

/** @param {number} look */
function dashOf(look) {
  return DASHES[(look + Math.floor(look / NUM_SERIES)) % DASHES.length];
}

/**
 * A probe reads colours as they are drawn: a custom property alone would give its formula.
 * @returns {Palette}
 */
function readPalette() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const read = (/** @type {string} */ name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  /** @type {any} */
  const colours = Object.fromEntries(NAMES.map((name) => [name, read(name)]));
  const series = Array.from({ length: NUM_SERIES }, (_, i) => read(`series-${i}`));
  const family = getComputedStyle(probe).fontFamily;
  probe.remove();
  return { ...colours, series, family };
}

/** A browser may refuse to keep anything; the choice then lasts as long as the page. */
function memory() {
  try {
    return localStorage;
  } catch {
    return null;
  }
}
