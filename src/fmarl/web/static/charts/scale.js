/** Axes: from values to pixels and back, and where the ticks go. */

/**
 * @typedef {object} Scale
 * @property {(value: number) => number} pixel
 * @property {(pixel: number) => number} value
 * @property {number[]} ticks
 */

/**
 * @param {number} least
 * @param {number} most
 * @param {number} from Pixel of the least value.
 * @param {number} to Pixel of the greatest.
 * @param {number} numTicks About so many.
 * @returns {Scale}
 */
export function linearScale(least, most, from, to, numTicks) {
  const span = most - least || 1;
  return {
    pixel: (value) => from + ((value - least) / span) * (to - from),
    value: (pixel) => least + ((pixel - from) / (to - from)) * span,
    ticks: evenTicks(least, most, numTicks),
  };
}

/**
 * As `linearScale`, for values that differ by powers of ten; all must be above zero.
 * @type {typeof linearScale}
 */
export function logScale(least, most, from, to, numTicks) {
  const inner = linearScale(Math.log10(least), Math.log10(most), from, to, numTicks);
  return {
    pixel: (value) => inner.pixel(Math.log10(value)),
    value: (pixel) => 10 ** inner.value(pixel),
    ticks: decadeTicks(least, most, numTicks),
  };
}

/**
 * Powers of ten, and zero on the left: for amounts of which some are nothing.
 * @type {typeof linearScale}
 */
export function softLogScale(_zero, most, from, to) {
  // Three decades are drawn apart; all that is smaller is close to zero.
  const unit = 10 ** (Math.ceil(Math.log10(most)) - 3);
  const inner = linearScale(0, Math.log1p(most / unit), from, to, 1);
  const powers = [unit, 10 * unit, 100 * unit, 1000 * unit].filter((tick) => tick <= most);
  return {
    pixel: (value) => inner.pixel(Math.log1p(value / unit)),
    value: (pixel) => unit * Math.expm1(inner.value(pixel)),
    ticks: [0, ...powers],
  };
}

/**
 * Round values from least to most: steps of 1, 2 or 5 times a power of ten.
 * @param {number} least
 * @param {number} most
 * @param {number} numTicks
 * @returns {number[]}
 */
export function evenTicks(least, most, numTicks) {
  if (!(most > least)) return [least];
  const rough = (most - least) / Math.max(numTicks, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10);
  const first = Math.ceil(least / step - 1e-9);
  const last = Math.floor(most / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => roundTo((first + i) * step, step));
}

/**
 * Least and greatest of any number of values.
 * @param {number[]} values
 * @returns {[number, number]}
 */
export function extent(values) {
  let [least, most] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return [least, most];
}

/**
 * Powers of ten, with 2 and 5 between them where there is room.
 * @param {number} least
 * @param {number} most
 * @param {number} numTicks
 */
function decadeTicks(least, most, numTicks) {
  const [first, last] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
  const decades = last - first;
  const every = Math.max(1, Math.ceil(decades / Math.max(numTicks, 1)));
  const factors = decades <= 2 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = first; power <= last; power += every) {
    for (const factor of factors) ticks.push(roundTo(factor * 10 ** power, 10 ** power));
  }
  return ticks.filter((tick) => tick >= least * 0.999 && tick <= most * 1.001);
}

/**
 * Without the dust of binary fractions: 0.30000000000000004 is 0.3.
 * @param {number} value
 * @param {number} step
 */
function roundTo(value, step) {
  const decimals = Math.max(0, -Math.floor(Math.log10(step)) + 1);
  return decimals > 100 ? value : Number(value.toFixed(decimals));
}
