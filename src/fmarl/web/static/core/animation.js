/** The one loop that animates everything, for as long as something moves and somebody looks. */

/**
 * @param {((now: number) => boolean)[]} ticks Each draws a frame and says whether it moves on.
 * @param {MediaQueryList} reduced Whether motion is unwanted: then there is no loop.
 * @returns {() => void} Call it when something may have begun to move.
 */
export function makeAnimation(ticks, reduced) {
  let running = false;

  /** @param {number} now */
  function frame(now) {
    const moves = ticks.map((tick) => tick(now)).some(Boolean);
    running = moves && !document.hidden;
    if (running) requestAnimationFrame(frame);
  }

  function wake() {
    if (running || document.hidden || reduced.matches) return;
    running = true;
    requestAnimationFrame(frame);
  }

  document.addEventListener("visibilitychange", wake);
  return wake;
}
