/** The keyboard: the replay and the help, from anywhere on the page. The help lists all keys. */

import { byId } from "./dom.js";

/** @import { Store } from "./store.js" */
/** @import { Replay } from "../road/replay.js" */

/** Where a key has a meaning of its own. */
const OWN_ARROWS = "input, select, textarea";
const OWN_SPACE = "button, input, select, textarea, summary, a";
const OWN_LETTERS = "input[type=search], input[type=text], textarea, select";

/**
 * @param {Store} store
 * @param {Replay} replay
 */
export function makeKeys(store, replay) {
  const { view } = store.state;
  const help = byId("help");
  /** @type {Record<string, (event: KeyboardEvent) => void>} */
  const replayKeys = {
    " ": () => replay.play(!view.playing),
    ArrowLeft: (event) => (event.shiftKey ? replay.epochBy(-1) : replay.stepBy(-1)),
    ArrowRight: (event) => (event.shiftKey ? replay.epochBy(1) : replay.stepBy(1)),
    Home: () => replay.goToStep(0),
    End: () => replay.stepBy(Infinity), // and stay there
    f: () => replay.follow(!view.follow),
  };

  document.addEventListener("keydown", (event) => {
    const replayed = store.focused?.about?.road ? replayKeys[event.key] : undefined;
    // As by its button, where it then is; the browser gives the focus back to where it was.
    const action = event.key === "?" ? () => help.click() : replayed;
    const busy = event.ctrlKey || event.altKey || event.metaKey;
    if (!action || busy || hasOwnMeaning(event)) return;
    event.preventDefault();
    action(event);
  });
}

/** @param {KeyboardEvent} event */
function hasOwnMeaning({ key, target }) {
  const own = key === " " ? OWN_SPACE : key.length === 1 ? OWN_LETTERS : OWN_ARROWS;
  return target instanceof Element && target.matches(own);
}
