/** The keyboard: the same as the controls of the replay, from anywhere on the page. */

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
  /** @type {Record<string, (event: KeyboardEvent) => void>} */
  const actions = {
    " ": () => replay.play(!view.playing),
    ArrowLeft: (event) => (event.shiftKey ? replay.epochBy(-1) : replay.stepBy(-1)),
    ArrowRight: (event) => (event.shiftKey ? replay.epochBy(1) : replay.stepBy(1)),
    Home: () => replay.goToStep(0),
    End: () => replay.stepBy(Infinity), // and stay there
    f: () => replay.follow(!view.follow),
  };

  document.addEventListener("keydown", (event) => {
    const action = actions[event.key];
    const busy = event.ctrlKey || event.altKey || event.metaKey;
    if (!action || busy || hasOwnMeaning(event) || !store.focused?.about?.road) return;
    event.preventDefault();
    action(event);
  });
}

/** @param {KeyboardEvent} event */
function hasOwnMeaning({ key, target }) {
  const own = key === " " ? OWN_SPACE : key.length === 1 ? OWN_LETTERS : OWN_ARROWS;
  return target instanceof Element && target.matches(own);
}
