/** The few strokes that every picture is made of, in the page's colours and type. */

/** @import { Palette } from "./theme.js" */

/**
 * @typedef {number[]} Pixel Across and down.
 * @typedef {{x: number, y: number, width: number, height: number}} Box
 * @typedef {{fill?: string | CanvasGradient, stroke?: string, width?: number, dash?: number[],
 *   alpha?: number, cap?: CanvasLineCap}} Style
 * @typedef {{size?: number, weight?: number, colour?: string, align?: CanvasTextAlign,
 *   baseline?: CanvasTextBaseline, halo?: boolean, room?: number}} TextStyle `halo` keeps words
 *   readable on lines; with `room` they are cut to so many pixels.
 */

export class Painter {
  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Palette} palette
   */
  constructor(context, palette) {
    this.context = context;
    this.palette = palette;
    context.lineJoin = "round";
  }

  /**
   * Fill and stroke what `trace` puts into the path.
   * @param {Style} style
   * @param {(context: CanvasRenderingContext2D) => void} trace
   */
  shape({ fill, stroke, width = 1, dash = [], alpha = 1, cap = "butt" }, trace) {
    const { context } = this;
    context.beginPath();
    trace(context);
    context.globalAlpha = alpha;
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    if (stroke) {
      Object.assign(context, { strokeStyle: stroke, lineWidth: width, lineCap: cap });
      context.setLineDash(dash);
      context.stroke();
      context.setLineDash([]);
    }
    context.globalAlpha = 1;
  }

  /** @param {Pixel[]} points @param {Style} style */
  line(points, style) {
    this.shape(style, (context) => {
      for (const [x, y] of points) context.lineTo(x, y);
    });
  }

  /** @param {number} x @param {number} y @param {number} radius @param {Style} style */
  disc(x, y, radius, style) {
    this.shape(style, (context) => context.arc(x, y, radius, 0, 2 * Math.PI));
  }

  /** @param {Box} box @param {number} radius Of its corners. @param {Style} style */
  box({ x, y, width, height }, radius, style) {
    this.shape(style, (context) => context.roundRect(x, y, width, height, radius));
  }

  /** @param {string} words @param {number} x @param {number} y @param {TextStyle} [type] */
  text(words, x, y, type = {}) {
    const { context, palette } = this;
    const { size, weight, colour, align = "left", baseline = "middle", halo, room } = type;
    const shown = room === undefined ? words : this.cut(words, room, type);
    this.#setFont(size, weight);
    Object.assign(context, { textAlign: align, textBaseline: baseline });
    if (halo) {
      Object.assign(context, { strokeStyle: palette.panel, lineWidth: 3 });
      context.strokeText(shown, x, y);
    }
    context.fillStyle = colour ?? palette.quiet;
    context.fillText(shown, x, y);
  }

  /** @param {string} words @param {TextStyle} [type] @returns {number} Pixels that they take. */
  measure(words, { size, weight } = {}) {
    this.#setFont(size, weight);
    return this.context.measureText(words).width;
  }

  /** @param {string} words @param {number} room @param {TextStyle} [type] @returns {string} */
  cut(words, room, type) {
    if (this.measure(words, type) <= room) return words;
    let end = words.length;
    while (end > 1 && this.measure(`${words.slice(0, end)}…`, type) > room) end -= 1;
    return `${words.slice(0, end).trimEnd()}…`;
  }

  /** Paint in a box only. @param {Box} box @param {() => void} paint */
  inside({ x, y, width, height }, paint) {
    const { context } = this;
    context.save();
    context.beginPath();
    context.roundRect(x, y, width, height, 6);
    context.clip();
    paint();
    context.restore();
  }

  /**
   * Paint from a place and turned, as on a sheet laid there.
   * @param {Pixel} place
   * @param {number} angle Radians.
   * @param {() => void} paint
   */
  from([x, y], angle, paint) {
    const { context } = this;
    context.save();
    context.translate(x, y);
    context.rotate(angle);
    paint();
    context.restore();
  }

  #setFont(size = 11, weight = 400) {
    this.context.font = `${weight} ${size}px ${this.palette.family}`;
  }
}
