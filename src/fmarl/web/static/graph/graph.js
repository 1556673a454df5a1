/** Who talks to whom: agents on a circle, links between them, and each real message as a dot. */

import { describe, prepare } from "../core/canvas.js";
import { byId } from "../core/dom.js";
import { plural } from "../core/format.js";
import { placeOfEpoch, spokenEpoch } from "../core/store.js";
import { drawDots, drawLines, drawNodes, layOut } from "./graph_drawing.js";
import { methodWords, partList, parts, partWords, updatesInPeriod } from "./members.js";
import { messagesBetween } from "./messages.js";

/** @import { Line, Store } from "../core/store.js" */
/** @import { Theme } from "../core/theme.js" */
/** @import { Message } from "./messages.js" */

/** The messages of an epoch are shown in this time. */
const EPOCH_MS = 1100;
/** How long a dot is on its way. */
const TRAVEL_MS = 450;
/** What is counted, and one of it. */
const NOUNS = /** @type {const} */ ([
  ["uploads", "upload"],
  ["downloads", "download"],
  ["exchanges", "exchange"],
  ["relays", "relay"],
]);

/**
 * @param {Store} store
 * @param {Theme} theme
 * @param {MediaQueryList} reduced Whether motion is unwanted.
 */
export function makeGraph(store, theme, reduced) {
  const canvas = byId("graph", HTMLCanvasElement);
  const [note, sent] = [byId("graph-note"), byId("graph-sent")];
  /** @type {{message: Message, start: number}[]} */
  let dots = [];
  let shownKey = "";

  function now() {
    const run = store.focused;
    const place = run ? placeOfEpoch(run.epochs, spokenEpoch(store.state.view)) : -1;
    return { run, line: run?.epochs[place], before: run?.epochs[place - 1] };
  }

  /** Send the messages of the shown epoch on their way. */
  function pulse() {
    const { run, line, before } = now();
    if (!line || !run?.about?.method || reduced.matches || document.hidden) return;
    // An old epoch of which the line before is missing would show all that was ever sent.
    if (!before && line.epoch > 1) return;
    const start = performance.now();
    const fresh = messagesBetween(before, line, run.about.method);
    for (const message of fresh) dots.push({ message, start: start + message.at * EPOCH_MS });
  }

  function update() {
    const { run, line } = now();
    const key = `${run?.id} ${line?.epoch} ${Boolean(run?.about?.method)}`;
    if (key !== shownKey) {
      if (!key.startsWith(`${shownKey.split(" ")[0]} `)) dots = [];
      shownKey = key;
      pulse();
    }
    speak();
    draw(performance.now());
  }

  function speak() {
    const { run, line, before } = now();
    const method = run?.about?.method;
    const slow = method && line ? partWords(updatesInPeriod(method, line.update_count)) : "";
    const sentNow = line && `Epoch ${line.epoch}: ${messageWords(before, line)} ${slow}`;
    sent.textContent = sentNow ?? "No epoch is over yet.";
    note.textContent = method ? methodWords(method) : "";
  }

  /** @param {number} time */
  function draw(time) {
    const { run, line } = now();
    if (canvas.clientWidth === 0) return;
    const { painter, width, height } = prepare(canvas, theme.palette);
    const method = run?.about?.method;
    const numAgents = run?.about?.num_agents ?? run?.start?.num_agents;
    const updates = method ? updatesInPeriod(method, line?.update_count ?? 0) : [];
    const said = [`${plural(numAgents ?? 0, "agent")}.`, sent.textContent, note.textContent];
    describe(canvas, [...said, partList(updates)].filter(Boolean).join(" "));
    if (!method || !numAgents) return;
    const layout = layOut(numAgents, width, height, method.averages, method.edge_agents);
    drawLines(painter, layout, method.links, parts(updates));
    const moving = dots.filter(({ start }) => time >= start && time < start + TRAVEL_MS);
    const placed = moving.map(({ message, start }) => {
      return { message, share: (time - start) / TRAVEL_MS };
    });
    drawDots(painter, layout, placed);
    drawNodes(painter, layout, updates, parts(updates));
  }

  /** One frame of the screen. @param {number} time @returns {boolean} Whether anything moves. */
  function tick(time) {
    if (dots.length === 0) return false;
    dots = dots.filter(({ start }) => time < start + TRAVEL_MS);
    draw(time);
    return dots.length > 0;
  }

  store.on(["lines", "view", "about", "theme", "runs"], update);
  new ResizeObserver(() => draw(performance.now())).observe(canvas);
  return { tick, pulse };
}

/** @param {Line | undefined} before @param {Line} line */
function messageWords(before, line) {
  const said = NOUNS.flatMap(([name, noun]) => {
    const amount = (line[name] ?? 0) - (before?.[name] ?? 0);
    return amount > 0 ? [plural(amount, noun)] : [];
  });
  return said.length ? `${said.join(", ")}.` : "no messages.";
}
