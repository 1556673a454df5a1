/** The few things that are done to elements everywhere. Text from records is only ever text. */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} [className]
 * @param {string} [text]
 */
export function element(tag, className = "", text = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

/**
 * Only if it changed: a reader's selection and a screen reader's place survive that.
 * @param {HTMLElement} place
 * @param {string} text
 */
export function setText(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

/**
 * An element that the page must have, of a kind.
 * @template {HTMLElement} [Kind=HTMLElement]
 * @param {string} id
 * @param {new () => Kind} [kind]
 * @returns {Kind}
 */
export function byId(id, kind = /** @type {any} */ (HTMLElement)) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`The page has no ${kind.name} #${id}.`);
  return found;
}

/**
 * The radio buttons of a name.
 * @param {string} name
 * @returns {HTMLInputElement[]}
 */
export function radios(name) {
  /** @type {NodeListOf<HTMLInputElement>} */
  const found = document.querySelectorAll(`input[name="${name}"]`);
  return [...found];
}
