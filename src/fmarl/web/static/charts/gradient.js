/** How steep the loss still is: measured, its running mean, and what theory promises of that. */

import { byId } from "../core/dom.js";
import { isNumber, number, tick } from "../core/format.js";
import { placeOfEpoch, spokenEpoch } from "../core/store.js";
import { lineLook } from "../core/theme.js";
import { makeChartPanel } from "./chart_panel.js";
/** @import { ChartPoint, Series } from "./chart.js" */
/** @import { About, Run, Store, View } from "../core/store.js" */
/** @import { Palette, Theme } from "../core/theme.js" */

/**
 * @param {Store} store
 * @param {Theme} theme
 */
export function makeGradient(store, theme) {
  const show = makeChartPanel("gradient", theme);
  const note = byId("gradient-note");

  function draw() {
    const run = store.focused;
    if (!run) return;
    const { points, isOnSamples } = measured(run);
    const bound = boundPoints(run.about?.bound);
    const average = runningMean(points);
    show(
      {
        series: allSeries(points, average, bound, run, theme.palette),
        rules: [],
        now: nowOf(run, store.state.view),
        xLabel: "update",
        yLabel: isOnSamples ? "‖∇F(θ̄)‖², log" : "‖g‖² of the agents' own gradients, log",
        xText: tick,
        logarithmic: true,
        fromZero: false,
      },
      words(average, bound, isOnSamples),
    );
    note.textContent = noteOf(run, points);
  }

  store.on(["lines", "view", "about", "theme", "runs"], draw);
}

/**
 * The squared gradient norm by update: on the fixed samples if the run has them.
 * @param {Run} run
 */
export function measured(run) {
  const lines = [...(run.start ? [run.start] : []), ...run.epochs];
  const isOnSamples = lines.some((line) => isNumber(line.expected_gradient_norm));
  const points = lines.flatMap(({ update_count: x, expected_gradient_norm, gradient_norm }) => {
    const norm = isOnSamples ? expected_gradient_norm : gradient_norm;
    const y = isNumber(norm) ? (isOnSamples ? norm : norm ** 2) : 0;
    return y > 0 ? [{ x, y }] : []; // a logarithm has no place for zero
  });
  return { points, isOnSamples };
}

/**
 * The mean of all values up to each: what the bound is about.
 * @param {{x: number, y: number}[]} points
 */
export function runningMean(points) {
  let sum = 0;
  return points.map(({ x, y }, i) => {
    sum += y;
    return { x, y: sum / (i + 1) };
  });
}

/** @param {About["bound"] | undefined} bound @returns {ChartPoint[]} */
function boundPoints(bound) {
  const { updates = [], values = [] } = bound ?? {};
  return updates
    .map((x, i) => ({ x, y: values[i] }))
    .filter((point) => isNumber(point.y) && point.y > 0);
}

/**
 * @param {ChartPoint[]} points
 * @param {ChartPoint[]} average
 * @param {ChartPoint[]} bound
 * @param {Run} run
 * @param {Palette} palette
 * @returns {Series[]}
 */
function allSeries(points, average, bound, run, palette) {
  const { colour } = lineLook(palette, run.look);
  const made = [
    { label: "measured", colour, dash: [], width: 1, opacity: 0.55, points },
    { label: "running mean", colour, dash: [], width: 2.4, points: average },
    { label: "bound", colour: palette.ink, dash: [7, 4], width: 1.6, points: bound },
  ];
  return made.filter((series) => series.points.length);
}

/** @param {Run} run @param {View} view */
function nowOf(run, view) {
  const epoch = spokenEpoch(view);
  if (epoch === null) return null;
  return run.epochs[placeOfEpoch(run.epochs, epoch)]?.update_count ?? 0;
}

/** @param {Run} run @param {ChartPoint[]} points */
function noteOf(run, points) {
  if (points.length) return run.about?.bound?.text ?? "";
  return run.epochs.length ? "No gradient norm was recorded." : "Nothing was measured yet.";
}

/** @param {ChartPoint[]} average @param {ChartPoint[]} bound @param {boolean} isOnSamples */
function words(average, bound, isOnSamples) {
  const which = isOnSamples ? "on fixed samples" : "of the agents' own gradients";
  const now = average.at(-1);
  if (!now) return "Squared gradient norm: nothing yet";
  const promise = bound.length ? `, corrected bound ${number(bound.at(-1)?.y)}` : ", no bound";
  return `Squared gradient norm ${which}: running mean ${number(now.y)}${promise}`;
}
