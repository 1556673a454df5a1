/** The page: every panel is made here, and then lives from the store. Start reading here. */

import { makeCurves } from "./charts/curves.js";
import { makeGradient } from "./charts/gradient.js";
import { makeAddress } from "./core/address.js";
import { makeAnimation } from "./core/animation.js";
import { makeApi } from "./core/api.js";
import { makeFocus } from "./core/focus.js";
import { makeKeys } from "./core/keyboard.js";
import { createStore } from "./core/store.js";
import { listen } from "./core/stream.js";
import { makeTheme } from "./core/theme.js";
import { makeGraph } from "./graph/graph.js";
import { makeMeters } from "./panels/cost_meters.js";
import { makeEvents } from "./panels/events.js";
import { makePicker } from "./panels/run_picker.js";
import { makeStatus } from "./panels/status.js";
import { makeReplay } from "./road/replay.js";
import { makeRoad } from "./road/road.js";

const store = createStore();
const reduced = matchMedia("(prefers-reduced-motion: reduce)");
const theme = makeTheme(store);
const api = makeApi(store);

makeStatus(store);
makeAddress(store);
makeFocus(store, api);
makePicker(store, theme);
const graph = makeGraph(store, theme, reduced);
const replay = makeReplay(store, api, reduced, graph.pulse);
makeRoad(store, theme, api, reduced);
makeCurves(store, theme);
makeMeters(store, theme);
makeGradient(store, theme);
makeEvents(store);
makeKeys(store, replay);

const wake = makeAnimation([replay.tick, graph.tick], reduced);
store.on(["runs", "lines", "frames", "about", "view", "clock"], wake);
reduced.addEventListener("change", wake);

// Listeners are called in the order in which they came, so here everything has been drawn.
store.on(["lines", "frames", "about"], () => {
  const run = store.focused;
  if (run?.about && run.start) document.documentElement.dataset.ready = "1";
});

listen(store);
