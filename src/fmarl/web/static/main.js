/** The page: every panel is made here, and then lives from the store. Start reading here. */

import { makeCurves } from "./curves.js";
import { makeEvents } from "./events.js";
import { makeFetching } from "./fetching.js";
import { makeFocus } from "./focus.js";
import { makeGradient } from "./gradient.js";
import { makeGraph } from "./graph.js";
import { makeKeys } from "./keys.js";
import { makeLoop } from "./loop.js";
import { makeMeters } from "./meters.js";
import { makePicker } from "./picker.js";
import { makeReplay } from "./replay.js";
import { makeRoad } from "./road.js";
import { makeStatus } from "./status.js";
import { createStore } from "./store.js";
import { listen } from "./stream.js";
import { makeTheme } from "./theme.js";

const store = createStore();
const reduced = matchMedia("(prefers-reduced-motion: reduce)");
const theme = makeTheme(store);
const fetching = makeFetching(store);

makeStatus(store);
makeFocus(store, fetching);
makePicker(store, theme);
const graph = makeGraph(store, theme, reduced);
const replay = makeReplay(store, fetching, reduced, graph.pulse);
makeRoad(store, theme, fetching, reduced);
makeCurves(store, theme);
makeMeters(store, theme);
makeGradient(store, theme);
makeEvents(store);
makeKeys(store, replay);

const wake = makeLoop([replay.tick, graph.tick], reduced);
store.on(["runs", "lines", "frames", "about", "view", "clock"], wake);
reduced.addEventListener("change", wake);

// Listeners are called in the order in which they came, so here everything has been drawn.
store.on(["lines", "frames", "about"], () => {
  const run = store.focused;
  if (run?.about && run.start) document.documentElement.dataset.ready = "1";
});

listen(store);
