/** The few things that are done to elements everywhere. Text from records is only ever text. */

/**
 * @param {string} tag
 * @param {string} [className]
 * @param {string} [text]
 * @returns {HTMLElement}
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
 * An element that the page must have.
 * @param {string} id
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no #${id}.`);
  return found;
}

/**
 * The radio buttons of a name.
 * @param {string} name
 * @returns {HTMLInputElement[]}
 */
export function radios(name) {
  return [...document.querySelectorAll(`input[name="${name}"]`)];
}
