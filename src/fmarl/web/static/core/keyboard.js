/** The keyboard: the same as the controls of the replay, from anywhere on the page. */

/** Where a key has a meaning of its own. */
const OWN_ARROWS = "input, select, textarea";
const OWN_SPACE = "button, input, select, textarea, summary, a";
const OWN_LETTERS = "input[type=search], input[type=text], textarea, select";

/**
 * @param {import("./store.js").Store} store
 * @param {import("../road/replay.js").Replay} replay
 */
export function makeKeys(store, replay) {
  const { view } = store.state;
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

function hasOwnMeaning(event) {
  if (event.key === " ") return event.target.matches(OWN_SPACE);
  if (event.key.length === 1) return event.target.matches(OWN_LETTERS);
  return event.target.matches(OWN_ARROWS);
}
