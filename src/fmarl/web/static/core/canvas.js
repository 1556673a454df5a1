/** Canvases that are as sharp as the screen and as large as their place. */

import { Painter } from "./painter.js";

/** @import { Palette } from "./theme.js" */

/** Paper is sharper than most screens: 288 dots per inch. */
const PRINTED_DENSITY = 3;

/**
 * Make a canvas as many pixels as its place on the screen has, and clear it.
 * @param {HTMLCanvasElement} canvas
 * @param {Palette} palette
 * @returns {{painter: Painter, width: number, height: number}} Size in CSS pixels.
 */
export function prepare(canvas, palette) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const isPrinted = document.documentElement.hasAttribute("data-printing");
  const density = isPrinted ? PRINTED_DENSITY : window.devicePixelRatio || 1;
  const [across, down] = [Math.round(width * density), Math.round(height * density)];
  // Setting the size, even to what it was, throws the picture away: only if it changed.
  if (canvas.width !== across || canvas.height !== down) {
    canvas.width = across;
    canvas.height = down;
  }
  const context = contextOf(canvas);
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);
  return { painter: new Painter(context, palette), width, height };
}

/** @param {HTMLCanvasElement} canvas */
export function contextOf(canvas) {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("This browser can not paint.");
  return context;
}

/**
 * Say what a canvas shows to those who do not see it.
 * @param {HTMLCanvasElement} canvas
 * @param {string} words
 */
export function describe(canvas, words) {
  if (canvas.getAttribute("aria-label") !== words) canvas.setAttribute("aria-label", words);
}
