/** The list of runs: whose curve is drawn, which one is in focus, which one is beside it. */

import { byId, element, setText } from "../core/dom.js";
import { plural } from "../core/format.js";
import { canCompare, copyWords, differenceWords, stateOf } from "../core/run_words.js";
import { dashBackground, lineLook } from "../core/theme.js";

/** @import { Run, Store, View } from "../core/store.js" */
/** @import { Palette, Theme } from "../core/theme.js" */

/** From here on the list is a column with a filter, not a strip. */
const MANY = 6;
/** @type {Record<string, string>} */
const ICONS = {
  starting: "◌",
  running: "▶",
  done: "✓",
  stopped: "‖",
  killed: "✕",
  failed: "✖",
  damaged: "!",
  gone: "∅",
};

/**
 * @param {Store} store
 * @param {Theme} theme
 */
export function makePicker(store, theme) {
  const [list, tools, found] = [byId("picker"), byId("picker-tools"), byId("found")];
  const filter = byId("filter", HTMLInputElement);
  const { state } = store;
  /** @type {Map<string, Row>} */
  const rows = new Map();
  /** @type {string | null} */
  let revealed = null;

  function draw() {
    for (const [id, { item }] of rows) if (!state.runs.has(id)) item.remove();
    for (const run of state.runs.values()) {
      const row = rows.get(run.id) ?? addRow(run);
      showRow(row, run, { view: state.view, focused: store.focused }, theme.palette);
      row.item.hidden = !matches(run, filter.value);
    }
    const many = state.runs.size >= MANY;
    document.body.dataset.many = String(many);
    tools.hidden = !many;
    setText(found, `${matching().length} of ${plural(state.runs.size, "run")}`);
    reveal(state.view.focus);
  }

  /**
   * A focus that moved by itself is brought into the list's view; the page stays where it is.
   * @param {string | null} id
   */
  function reveal(id) {
    const item = rows.get(id ?? "")?.item;
    if (!item || revealed === id) return;
    revealed = id;
    const [top, bottom] = [item.offsetTop, item.offsetTop + item.offsetHeight];
    const isSeen = top >= list.scrollTop && bottom <= list.scrollTop + list.clientHeight;
    if (!isSeen) list.scrollTop = top - list.clientHeight / 2;
  }

  function matching() {
    return [...state.runs.values()].filter((run) => matches(run, filter.value));
  }

  /** @param {Run} run */
  function addRow(run) {
    const row = makeRow(run);
    row.shown.addEventListener("change", () => show([run], row.shown.checked));
    row.focus.addEventListener("click", () => focus(run));
    row.pin.addEventListener("click", () => pin(run));
    rows.set(run.id, row);
    list.append(row.item);
    return row;
  }

  /** @param {Run[]} runs @param {boolean} isShown */
  function show(runs, isShown) {
    for (const run of runs) {
      if (isShown) state.view.hidden.delete(run.id);
      else state.view.hidden.add(run.id);
    }
    store.touch("view");
  }

  /** Whoever is looked at is drawn, too. @param {Run} run */
  function focus(run) {
    state.view.hidden.delete(run.id);
    const pinned = store.pinned && canCompare(store.pinned, run) ? store.pinned.id : null;
    store.look({ focus: run.id, chosen: true, pinned });
  }

  /** @param {Run} run */
  function pin(run) {
    state.view.hidden.delete(run.id);
    const isPinned = state.view.pinned === run.id;
    store.look({ pinned: isPinned ? null : run.id, chosen: true });
  }

  filter.addEventListener("input", draw);
  byId("show-all").addEventListener("click", () => show(matching(), true));
  byId("show-none").addEventListener("click", () => show(matching(), false));
  store.on(["runs", "lines", "view", "theme"], draw);
}

/** @typedef {ReturnType<typeof makeRow>} Row */

/**
 * Whether every word of a filter is found in what is known of a run.
 * @param {Run} run
 * @param {string} wanted
 */
export function matches(run, wanted) {
  const { label, name, world, algorithm, method, seed } = run.info;
  const told = [differenceWords(run), ...run.compared.copies, `seed ${seed}`, stateOf(run)];
  const text = [label, name, world, algorithm, method, ...told].join(" ");
  const words = wanted.toLowerCase().split(/\s+/);
  return words.every((word) => text.toLowerCase().includes(word));
}

/** @param {Run} run */
function makeRow(run) {
  const item = element("li", "run");
  const shown = element("input");
  const [focus, pin] = [element("button", "focus"), element("button", "pin", "⇄")];
  const spans = {
    sample: element("span", "sample"),
    label: element("span", "label"),
    difference: element("span", "difference"),
    state: element("span", "state"),
    seed: element("span", "seed"),
    note: element("span", "note"),
    progress: element("span", "progress"),
  };
  shown.type = "checkbox";
  focus.type = pin.type = "button";
  focus.append(...Object.values(spans));
  item.append(shown, focus, pin);
  item.dataset.run = run.id;
  return { item, shown, focus, pin, ...spans };
}

/**
 * @param {Row} row
 * @param {Run} run
 * @param {{view: View, focused: Run | null}} given
 * @param {Palette} palette
 */
function showRow(row, run, { view, focused }, palette) {
  const { info } = run;
  const difference = differenceWords(run);
  const name = [info.label, difference, `seed ${info.seed}`].filter(Boolean).join(", ");
  const state = stateOf(run);
  const epoch = run.epochs.at(-1)?.epoch ?? 0;
  const isFocus = view.focus === run.id;
  const isPinned = view.pinned === run.id;
  setText(row.label, info.label);
  setText(row.difference, difference);
  setText(row.note, [info.failure, copyWords(run)].filter(Boolean).join(" "));
  setText(row.seed, `seed ${info.seed}`);
  setText(row.state, `${ICONS[state] ?? "·"} ${state} ${epoch}/${info.num_epochs}`);
  row.state.dataset.state = state;
  row.progress.style.setProperty("--share", String(Math.min(epoch / (info.num_epochs || 1), 1)));
  row.item.style.setProperty("--look", lineLook(palette, run.look).colour);
  row.sample.style.background = dashBackground(run.look);
  row.shown.checked = !view.hidden.has(run.id);
  label(row.shown, `Draw the curve of ${name}`);
  row.focus.setAttribute("aria-pressed", String(isFocus));
  const progress = `epoch ${epoch} of ${info.num_epochs}`;
  const said = `Look at ${name}: ${state}, ${progress}`;
  row.focus.setAttribute("aria-label", [said, row.note.textContent].filter(Boolean).join(". "));
  row.focus.title = `${info.name} · ${info.world} · ${info.algorithm}`;
  row.pin.setAttribute("aria-pressed", String(isPinned));
  row.pin.disabled = !isPinned && !canCompare(run, focused);
  label(row.pin, isPinned ? `Stop comparing with ${name}` : `Compare with ${name}`);
}

/** @param {HTMLElement} control @param {string} words */
function label(control, words) {
  control.setAttribute("aria-label", words);
  control.title = words;
}
