/** Line charts with bands, rules, labels at the lines' ends, and a crosshair. */

import { tick as tickText } from "../core/format.js";
import { extent, linearScale, logScale, softLogScale } from "./scale.js";

/** @import { Scale } from "./scale.js" */
/** @import { Painter, TextStyle } from "../core/painter.js" */

/** Height of a label at a line's end. */
const LABEL = 14;
const LABEL_TYPE = { weight: 600 };
const MOST_LABEL_WIDTH = 190;

/**
 * @typedef {{x: number, y: number, low?: number, high?: number, note?: string}} ChartPoint
 * @typedef {object} Series
 * @property {string} label
 * @property {string} colour
 * @property {number[]} dash
 * @property {number} width
 * @property {ChartPoint[]} points By x.
 * @property {number} [opacity]
 *
 * @typedef {object} Chart
 * @property {Series[]} series
 * @property {{y: number, label: string}[]} rules Levels to compare with.
 * @property {number | null} now x of the old epoch that the other panels speak of, if they do.
 * @property {string} xLabel
 * @property {string} yLabel
 * @property {boolean} logarithmic
 * @property {boolean} fromZero Whether the y axis starts at zero.
 * @property {boolean} [softX] Whether x goes over powers of ten, from zero on.
 * @property {number} [leastX] The x axis reaches at least so far.
 * @property {(x: number) => string} xText
 *
 * @typedef {{chart: Chart, xs: Scale, ys: Scale,
 *   plot: {left: number, right: number, top: number, bottom: number}}} Drawn
 */

/**
 * @param {Painter} painter
 * @param {number} width
 * @param {number} height
 * @param {Chart} chart
 * @returns {Drawn}
 */
export function drawChart(painter, width, height, chart) {
  const drawn = layOut(painter, width, height, chart);
  const { left, right, top, bottom } = drawn.plot;
  drawAxes(painter, drawn);
  drawNow(painter, drawn);
  painter.inside({ x: left, y: top - 4, width: right - left + 5, height: bottom - top + 8 }, () => {
    for (const series of chart.series) drawBand(painter, series, drawn);
    for (const series of chart.series) drawLine(painter, series, drawn);
  });
  drawRules(painter, drawn);
  drawLabels(painter, drawn, width - right - 9);
  return drawn;
}

/**
 * A vertical line at x, and a dot on each line where it has a point there.
 * @param {Painter} painter
 * @param {Drawn} drawn
 * @param {number} x
 */
export function drawCrosshair(painter, { chart, xs, ys, plot }, x) {
  const { quiet, panel } = painter.palette;
  const at = crisp(xs.pixel(x));
  painter.line([[at, plot.top], [at, plot.bottom]], { stroke: quiet });
  for (const { points, colour } of chart.series) {
    const point = nearestPoint(points, x);
    if (!point || point.x !== x) continue;
    painter.disc(xs.pixel(x), ys.pixel(point.y), 4, { fill: colour, stroke: panel, width: 2 });
  }
}

/**
 * @param {ChartPoint[]} points By x.
 * @param {number} x
 */
export function nearestPoint(points, x) {
  /** @type {ChartPoint | null} */
  let best = null;
  for (const point of points) {
    if (!best || Math.abs(point.x - x) < Math.abs(best.x - x)) best = point;
  }
  return best;
}

/**
 * @param {Painter} painter
 * @param {number} width
 * @param {number} height
 * @param {Chart} chart
 * @returns {Drawn}
 */
function layOut(painter, width, height, chart) {
  const labels = chart.series.map(({ label }) => painter.measure(label, LABEL_TYPE));
  const room = Math.min(Math.max(0, ...labels) + 14, MOST_LABEL_WIDTH, width * 0.32);
  const { x, y } = ranges(chart);
  const [top, bottom] = [18, height - 32];
  const vertical = chart.logarithmic ? logScale : linearScale;
  const spacing = chart.logarithmic ? 20 : 36;
  const ys = vertical(y.least, y.most, bottom, top, Math.max(2, (bottom - top) / spacing));
  const left = 10 + Math.max(...ys.ticks.map((tick) => painter.measure(tickText(tick))));
  const right = width - room;
  const horizontal = chart.softX ? softLogScale : linearScale;
  const xs = horizontal(x.least, x.most, left, right, Math.max(2, (right - left) / 70));
  return { chart, xs, ys, plot: { left, right, top, bottom } };
}

/** @param {Chart} chart */
function ranges(chart) {
  const points = chart.series.flatMap((series) => series.points);
  const ys = points.flatMap((point) => [point.y, point.low ?? point.y, point.high ?? point.y]);
  ys.push(...chart.rules.map((rule) => rule.y));
  const [, last] = extent([chart.leastX ?? 0, ...points.map((point) => point.x)]);
  const x = { least: 0, most: last || 1 };
  if (ys.length === 0) {
    return { x, y: chart.logarithmic ? { least: 1, most: 10 } : { least: 0, most: 1 } };
  }
  const [least, most] = extent(ys);
  if (chart.logarithmic) return { x, y: { least: least / 1.3, most: most * 1.3 } };
  const spare = (most - least || Math.abs(most) || 1) * 0.06;
  const floor = chart.fromZero && least >= 0 ? 0 : least - spare;
  return { x, y: { least: floor, most: most + spare } };
}

/** @param {Painter} painter @param {Drawn} drawn */
function drawAxes(painter, { chart, xs, ys, plot }) {
  for (const tick of ys.ticks) {
    const y = crisp(ys.pixel(tick));
    painter.line([[plot.left, y], [plot.right, y]], { stroke: painter.palette.rule });
    painter.text(tickText(tick), plot.left - 6, y, { align: "right" });
  }
  for (const tick of xs.ticks) {
    const x = xs.pixel(tick);
    painter.text(chart.xText(tick), x, plot.bottom + 5, { align: "center", baseline: "top" });
  }
  painter.text(chart.xLabel, plot.right, plot.bottom + 19, { align: "right", baseline: "top" });
  painter.text(chart.yLabel, 0, 0, { baseline: "top" });
}

/**
 * What the other panels speak of: a quiet mark on the axis.
 * @param {Painter} painter
 * @param {Drawn} drawn
 */
function drawNow(painter, { chart, xs, plot: { top, bottom } }) {
  if (chart.now === null) return;
  const { faint, quiet } = painter.palette;
  const x = crisp(xs.pixel(chart.now));
  painter.line([[x, top], [x, bottom]], { stroke: faint, dash: [1, 3] });
  painter.line([[x, bottom], [x - 4, bottom + 5], [x + 4, bottom + 5]], { fill: quiet });
}

/** @param {Painter} painter @param {Series} series @param {Drawn} drawn */
function drawBand(painter, { points, colour }, { xs, ys }) {
  const edges = points.filter((point) => point.low !== undefined);
  const above = edges.map(({ x, y, high = y }) => [xs.pixel(x), ys.pixel(high)]);
  const below = edges.map(({ x, y, low = y }) => [xs.pixel(x), ys.pixel(low)]);
  painter.line([...above, ...below.reverse()], { fill: colour, alpha: 0.16 });
}

/** @param {Painter} painter @param {Series} series @param {Drawn} drawn */
function drawLine(painter, { points, colour, width, dash, opacity: alpha = 1 }, { xs, ys }) {
  if (points.length === 0) return;
  const pixels = points.map((point) => [xs.pixel(point.x), ys.pixel(point.y)]);
  painter.line(pixels, { stroke: colour, width, dash, alpha });
  const [x, y] = pixels[pixels.length - 1];
  painter.disc(x, y, width + 0.8, { fill: colour, alpha });
}

/** @param {Painter} painter @param {Drawn} drawn */
function drawRules(painter, { chart, ys, plot }) {
  for (const rule of chart.rules) {
    const y = crisp(ys.pixel(rule.y));
    const style = { stroke: painter.palette.quiet, width: 1.2, dash: [5, 4] };
    painter.line([[plot.left, y], [plot.right, y]], style);
    const isLow = y > plot.bottom - LABEL;
    /** @type {TextStyle} */
    const type = { align: "right", baseline: isLow ? "bottom" : "top", halo: true };
    painter.text(rule.label, plot.right - 6, isLow ? y - 3 : y + 4, type);
  }
}

/**
 * Each line's name at its end, moved apart where ends are close.
 * @param {Painter} painter
 * @param {Drawn} drawn
 * @param {number} room
 */
function drawLabels(painter, { chart, ys, plot }, room) {
  const ends = chart.series.flatMap((series) => {
    const last = series.points.at(-1);
    return last ? [{ series, y: ys.pixel(last.y) }] : [];
  });
  const most = Math.floor((plot.bottom - plot.top) / LABEL);
  const placed = apart(ends.slice(0, most), plot.top + LABEL / 2, plot.bottom - LABEL / 2);
  for (const { series, y } of placed) {
    painter.text(series.label, plot.right + 8, y, { ...LABEL_TYPE, colour: series.colour, room });
  }
}

/**
 * Push labels apart until none covers another, within a range.
 * @template {{y: number}} Item
 * @param {Item[]} items
 * @param {number} top
 * @param {number} bottom
 */
export function apart(items, top, bottom) {
  const placed = items.toSorted((one, other) => one.y - other.y).map((item) => ({ ...item }));
  let least = top;
  for (const item of placed) {
    item.y = Math.max(item.y, least);
    least = item.y + LABEL;
  }
  let most = bottom;
  for (const item of placed.toReversed()) {
    item.y = Math.min(item.y, most);
    most = item.y - LABEL;
  }
  return placed;
}

/** In the middle of a pixel, a thin line is sharp. @param {number} pixel */
function crisp(pixel) {
  return Math.round(pixel) + 0.5;
}
