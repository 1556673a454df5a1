/** A chart that answers to pointer and keyboard: a crosshair, and the values under it in words. */

import { describe, prepare } from "../core/canvas.js";
import { byId, element } from "../core/dom.js";
import { number } from "../core/format.js";
import { drawChart, drawCrosshair, nearestPoint } from "./chart.js";
/** @import { Chart, Drawn } from "./chart.js" */
/** @import { Theme } from "../core/theme.js" */

/**
 * @param {string} id Of its canvas; what the crosshair finds is said in `id-readout`.
 * @param {Theme} theme
 * @returns {(chart: Chart, words: string) => void} Shows a chart.
 */
export function makeChartPanel(id, theme) {
  const [canvas, readout] = [byId(id, HTMLCanvasElement), byId(`${id}-readout`)];
  /** @type {Drawn | null} */
  let drawn = null;
  /** @type {Chart | null} */
  let chart = null;
  /** @type {number | null} x that was pointed at. */
  let pointed = null;

  function draw() {
    if (!chart || canvas.clientWidth === 0) return;
    const { painter, width, height } = prepare(canvas, theme.palette);
    drawn = drawChart(painter, width, height, chart);
    const x = pointed === null ? null : snapped(chart, pointed);
    if (x !== null) drawCrosshair(painter, drawn, x);
    tell(chart, drawn, x);
  }

  /** @param {Chart} chart @param {Drawn} drawn @param {number | null} x */
  function tell(chart, drawn, x) {
    readout.hidden = x === null;
    if (x === null) return;
    const rows = valuesAt(chart, x).map(({ series, point }) => {
      const row = element("li", "", `${series.label} ${point.note ?? number(point.y)}`);
      row.style.setProperty("--look", series.colour);
      return row;
    });
    readout.replaceChildren(element("li", "at", `${chart.xLabel} ${chart.xText(x)}`), ...rows);
    // On the other side of the crosshair, so that it does not cover what is looked at.
    readout.dataset.side = drawn.xs.pixel(x) > canvas.clientWidth / 2 ? "left" : "right";
  }

  /** @param {number | null} x */
  function point(x) {
    pointed = x;
    draw();
  }

  canvas.addEventListener("pointermove", (event) => {
    if (drawn) point(drawn.xs.value(event.offsetX));
  });
  canvas.addEventListener("pointerleave", () => point(null));
  canvas.addEventListener("blur", () => point(null));
  canvas.addEventListener("keydown", (event) => {
    if (!chart) return;
    const now = pointed === null ? null : snapped(chart, pointed);
    const next = keyTarget(event.key, allX(chart), now);
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation(); // here arrows move the crosshair, not the vehicles
    point(next);
  });
  new ResizeObserver(draw).observe(canvas);

  return (next, words) => {
    chart = next;
    describe(canvas, words);
    draw();
  };
}

/**
 * The x that a key leads to; undefined if it is not one of ours.
 * @param {string} key
 * @param {number[]} all
 * @param {number | null} now
 * @returns {number | null | undefined}
 */
function keyTarget(key, all, now) {
  if (key === "Escape") return now === null ? undefined : null;
  if (all.length === 0) return undefined;
  const place = now === null ? all.length : all.indexOf(now);
  /** @type {Record<string, number>} */
  const places = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: all.length - 1 };
  if (!(key in places)) return undefined;
  return all[Math.min(Math.max(places[key], 0), all.length - 1)];
}

/** @param {Chart} chart */
function allX(chart) {
  const xs = chart.series.flatMap((series) => series.points.map((point) => point.x));
  return [...new Set(xs)].sort((one, other) => one - other);
}

/** @param {Chart} chart @param {number} x */
function snapped(chart, x) {
  return nearestPoint(chart.series.flatMap((series) => series.points), x)?.x ?? null;
}

/** @param {Chart} chart @param {number} x */
function valuesAt(chart, x) {
  return chart.series
    .flatMap((series) => {
      const point = nearestPoint(series.points, x);
      return point?.x === x ? [{ series, point }] : [];
    })
    .toSorted((one, other) => other.point.y - one.point.y)
    .slice(0, 10);
}
