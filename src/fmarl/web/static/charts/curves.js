/** How well the methods do: one line for each, a band where it has several seeds. */

import { byId, radios } from "../core/dom.js";
import { bytes, isNumber, number, plural, tick } from "../core/format.js";
import { methodName } from "../core/run_words.js";
import { placeOfEpoch, spokenEpoch } from "../core/store.js";
import { lineLook } from "../core/theme.js";
import { makeChartPanel } from "./chart_panel.js";
/** @import { ChartPoint, Series } from "./chart.js" */
/** @import { Measure, Run, Store } from "../core/store.js" */
/** @import { Palette, Theme } from "../core/theme.js" */

/**
 * @typedef {ChartPoint & {epoch: number}} Point
 * @typedef {{runs: Run[], curves: Point[][], label: string, points: Point[]}} Group
 */

/**
 * @param {Store} store
 * @param {Theme} theme
 */
export function makeCurves(store, theme) {
  const show = makeChartPanel("curves", theme);
  const note = byId("curves-note");
  const measures = radios("measure");

  function draw() {
    const { view, runs } = store.state;
    const focus = store.focused;
    if (!focus) return;
    const visible = [...runs.values()].filter((run) => !view.hidden.has(run.id));
    const shown = visible.filter((run) => run.info.world === focus.info.world);
    const groups = groupRuns(shown, view.measure);
    const reward = rewardName(focus, view.measure);
    const isBytes = view.measure === "bytes";
    show(
      {
        series: groups.map((group) => asSeries(group, focus, theme.palette)),
        rules: isBytes || view.measure === "test" ? baselines(shown) : [],
        now: isBytes ? null : spokenEpoch(view),
        softX: isBytes,
        xLabel: isBytes ? "sent" : "epoch",
        yLabel: `${view.measure === "train" ? "training" : "test"} ${reward}`,
        xText: isBytes ? bytes : tick,
        leastX: isBytes ? 0 : Math.max(1, ...shown.map(lastEpoch)),
        logarithmic: false,
        fromZero: reward === "NAS",
      },
      words(groups, reward, view.measure),
    );
    const elsewhere = visible.filter(({ info }) => info.world && info.world !== focus.info.world);
    note.textContent = noteOf(groups, elsewhere.length);
    for (const input of measures) input.checked = input.value === view.measure;
  }

  for (const input of measures) {
    const measure = /** @type {Measure} */ (input.value);
    input.addEventListener("change", () => store.look({ measure }));
  }
  store.on(["lines", "runs", "view", "about", "theme"], draw);
}

/**
 * What is measured: a return is of whole episodes, and training does not wait for their end.
 * @param {Run} run
 * @param {Measure} measure
 */
function rewardName(run, measure) {
  const name = run.info.measure;
  return measure === "train" && name === "return" ? "reward" : name;
}

/**
 * Runs by group, each with the mean and the range over its seeds; one seed twice is one seed.
 * @param {Run[]} runs
 * @param {Measure} measure
 */
export function groupRuns(runs, measure) {
  /** @type {Map<string, Omit<Group, "points">>} */
  const groups = new Map();
  for (const run of oncePerSeed(runs)) {
    const points = pointsOf(run, measure);
    if (points.length === 0) continue;
    const group = groups.get(run.info.group) ?? { runs: [], curves: [], label: methodName(run) };
    group.runs.push(run);
    group.curves.push(points);
    groups.set(run.info.group, group);
  }
  return [...groups.values()].map((group) => ({ ...group, points: overSeeds(group.curves) }));
}

/**
 * Of runs with the same settings and seed, which are equal, the one that came furthest.
 * @param {Run[]} runs
 */
function oncePerSeed(runs) {
  /** @type {Map<string, Run>} */
  const best = new Map();
  for (const run of runs) {
    const key = `${run.info.group} ${run.info.seed}`;
    const known = best.get(key);
    if (!known || run.epochs.length > known.epochs.length) best.set(key, run);
  }
  return best.values();
}

/** @param {Run} run @param {Measure} measure @returns {Point[]} */
function pointsOf(run, measure) {
  const lines = measure === "train" ? run.epochs : run.tests;
  const name = measure === "train" ? "train_reward" : "mean";
  return lines.flatMap((line) => {
    const [{ epoch }, y] = [line, line[name]];
    if (!isNumber(y)) return [];
    return [{ epoch, x: measure === "bytes" ? bytesAt(run, epoch) : epoch, y }];
  });
}

/** @param {Run} run @param {number} epoch */
function bytesAt(run, epoch) {
  const line = run.epochs[placeOfEpoch(run.epochs, epoch)];
  return isNumber(line?.bytes_sent) ? line.bytes_sent : 0;
}

/**
 * Mean, least and greatest at each epoch, of the seeds that have come so far.
 * @param {Point[][]} curves
 */
export function overSeeds(curves) {
  if (curves.length === 1) return curves[0];
  /** @type {Map<number, Point[]>} */
  const byEpoch = new Map();
  for (const point of curves.flat()) {
    byEpoch.set(point.epoch, [...(byEpoch.get(point.epoch) ?? []), point]);
  }
  const inOrder = [...byEpoch].sort(([one], [other]) => one - other);
  return inOrder.map(([epoch, points]) => {
    const ys = points.map((point) => point.y);
    const [y, low, high] = [mean(ys), Math.min(...ys), Math.max(...ys)];
    const who = points.length < curves.length ? `, ${points.length} of ${curves.length} seeds` : "";
    const note = `${number(y)} (${number(low)} to ${number(high)}${who})`;
    return { epoch, x: mean(points.map((point) => point.x)), y, low, high, note };
  });
}

/** @param {number[]} values */
function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** @param {Group} group @param {Run} focus @param {Palette} palette @returns {Series} */
function asSeries(group, focus, palette) {
  return {
    ...lineLook(palette, group.runs[0].look),
    label: group.label,
    width: group.runs[0].info.group === focus.info.group ? 2.6 : 1.6,
    points: group.points,
  };
}

/**
 * Each seed has its own traffic, and so its own baseline: the mean over the runs shown.
 * @param {Run[]} runs
 */
function baselines(runs) {
  const means = runs.map((run) => run.baseline?.mean).filter(isNumber);
  if (means.length === 0) return [];
  return [{ y: mean(means), label: `SUMO alone ${number(mean(means))}` }];
}

/** Where the axis should end: while a run goes, with room to grow. @param {Run} run */
function lastEpoch(run) {
  const last = run.epochs.at(-1)?.epoch ?? 0;
  const isGoing = run.info.state === "running" || run.info.state === "starting";
  return isGoing ? Math.min(run.info.num_epochs, Math.max(10, last * 1.15)) : last;
}

/** @param {Group[]} groups @param {number} numElsewhere */
function noteOf(groups, numElsewhere) {
  const seeds = groups.map((group) => group.runs.length);
  const [least, most] = [Math.min(...seeds), Math.max(...seeds)];
  const notes = [];
  if (most > 1) {
    const over = least === most ? most : `${least} to ${most}`;
    notes.push(`Line: mean over ${over} seeds. Band: least to greatest.`);
  }
  if (numElsewhere > 0) notes.push(`${plural(numElsewhere, "run")} of other worlds not drawn.`);
  return notes.join(" ");
}

/** @param {Group[]} groups @param {string} reward @param {Measure} measure */
function words(groups, reward, measure) {
  const against = measure === "bytes" ? "bytes sent" : "epochs";
  const kind = measure === "train" ? "Training" : "Test";
  const ends = groups.map(({ label, points }) => `${label} ${number(points.at(-1)?.y)}`);
  return `${kind} ${reward} against ${against}: ${ends.join(", ") || "nothing yet"}`;
}
