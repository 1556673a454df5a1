/** What was sent and done, against the closed form: counts, bytes and cost. */

import { byId, element } from "../core/dom.js";
import { bytes, count, isNumber, number, tick } from "../core/format.js";
import { methodName } from "../core/run_words.js";
import { placeOfEpoch, spokenEpoch } from "../core/store.js";
import { lineLook } from "../core/theme.js";

/** @import { Line, Run, Store, View } from "../core/store.js" */
/** @import { Palette, Theme } from "../core/theme.js" */

/** What is counted: its symbol, its name and its price. */
const COUNTED = /** @type {const} */ ([
  ["C1", "uploads", "upload_cost"],
  ["C2", "updates", "update_cost"],
  ["W1", "exchanges", "exchange_cost"],
  ["W2", "mixings", "mixing_cost"],
]);

/**
 * @typedef {(typeof COUNTED)[number][1]} Counted
 * @typedef {{run: Run, line: Line | null}} RunLine
 */

/**
 * @param {Store} store
 * @param {Theme} theme
 */
export function makeMeters(store, theme) {
  const head = element("div", "totals");
  const table = element("table");
  const body = element("tbody");
  table.append(body);
  byId("meters").append(head, table);

  function draw() {
    const runs = [store.focused, store.pinned].filter((run) => run !== null);
    const now = runs.map((run) => ({ run, line: lineOf(run, store.state.view) }));
    head.replaceChildren(...now.map((one) => totals(one, runs.length > 1, theme.palette)));
    body.replaceChildren(...COUNTED.map(([symbol, name]) => row(symbol, name, now)));
    table.hidden = !now.some(({ line }) => line);
  }

  store.on(["lines", "view", "about", "runs", "theme"], draw);
}

/** @param {Run} run @param {View} view @returns {Line | null} */
function lineOf(run, view) {
  return run.epochs[placeOfEpoch(run.epochs, spokenEpoch(view))] ?? null;
}

/**
 * Bytes and cost in large type, for each run that is looked at.
 * @param {RunLine} one
 * @param {boolean} isNamed
 * @param {Palette} palette
 */
function totals({ run, line }, isNamed, palette) {
  const part = element("dl", "total");
  if (isNamed) {
    const name = element("p", "whose", `seed ${run.info.seed} · ${methodName(run)}`);
    name.style.setProperty("--look", lineLook(palette, run.look).colour);
    part.append(name);
  }
  const cost = line && psi0(line, run.about?.prices);
  const priced = isNumber(cost) ? tick(Number(cost.toPrecision(4))) : number(cost);
  part.append(...figure("sent", bytes(line?.bytes_sent)), ...figure("cost ψ₀", priced));
  return part;
}

/** @param {string} name @param {string} value */
function figure(name, value) {
  return [element("dt", "", name), element("dd", "", value)];
}

/**
 * ψ0: everything counted, at its price.
 * @param {Line} line
 * @param {Record<string, number> | undefined} prices
 * @returns {number | null}
 */
export function psi0(line, prices) {
  if (!prices) return null;
  const parts = COUNTED.map(([, name, price]) => (line[name] ?? NaN) * prices[price]);
  return parts.every(isNumber) ? parts.reduce((sum, part) => sum + part, 0) : null;
}

/** @param {string} symbol @param {Counted} name @param {RunLine[]} now */
function row(symbol, name, now) {
  const made = element("tr");
  const head = element("th", "", name);
  head.scope = "row";
  head.prepend(element("abbr", "", symbol));
  made.append(head);
  for (const { line } of now) {
    made.append(counted(line, name), verdict(line, name, now.length > 1));
  }
  return made;
}

/** @param {Line | null} line @param {Counted} name */
function counted(line, name) {
  const cell = element("td", "count", count(line?.[name]));
  const { kind } = compared(line, name);
  const bar = element("span", "bar");
  const [found = NaN, expected = NaN] = [line?.[name], line?.expected?.[name]];
  const share = kind === "equal" ? 1 : Math.min(found / expected, 1);
  bar.style.setProperty("--share", String(share));
  bar.hidden = kind === "none";
  cell.append(bar);
  return cell;
}

/**
 * A count beside its closed form, in words and in short.
 * @param {Line | null} line
 * @param {Counted} name
 * @returns {{words: string, short: string, kind: "equal" | "other" | "none"}}
 */
export function compared(line, name) {
  const [found, expected] = [line?.[name], line?.expected?.[name]];
  if (!isNumber(expected) || !isNumber(found)) {
    return { words: "no closed form", short: "", kind: "none" };
  }
  const more = found - expected;
  if (Math.abs(more) < 1e-6) return { words: "✓ as computed", short: "✓", kind: "equal" };
  const amount = Number.isInteger(more) ? count(Math.abs(more)) : number(Math.abs(more));
  const words = `${amount} ${more > 0 ? "more" : "fewer"} than computed`;
  return { words, short: `${more > 0 ? "+" : "−"}${amount}`, kind: "other" };
}

/** @param {Line | null} line @param {Counted} name @param {boolean} isShort */
function verdict(line, name, isShort) {
  const { words, short, kind } = compared(line, name);
  const cell = element("td", "verdict", isShort ? short : words);
  cell.dataset.kind = kind;
  if (isShort) cell.title = words;
  return cell;
}
