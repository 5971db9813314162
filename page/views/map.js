// The map: every word a point, near those that are used alike. Points by WebGL, words that do not overlap above them.
import { polygonContains } from "d3-polygon";
import { quadtree } from "d3-quadtree";
import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { alone, ask, has } from "../ask.js";
import { address, fill, h, number, word } from "../dom.js";
import { csv, png } from "../take.js";

const LABELS = 140;
const PARTS = 20; // of the text, that colours can tell apart from the rest
const TRIED = 4000; // words that are looked at for a name, so that a picture takes milliseconds
const [FRAME, FEWEST, REST] = [1000 / 60, 2000, 150]; // milliseconds of a picture, words while it moves, milliseconds until it rests
const CELL = [64, 32]; // pixels
const NEAR = 12; // pixels

export const title = () => "Map";

export async function show(page, what, settings) {
  const [answer, { fields }] = await Promise.all([ask("places"), ask("overview")]);
  const points = arrange(answer);
  const stage = h("div", { class: "stage" });
  const dots = h("canvas", { "aria-hidden": "true" });
  const names = h("canvas", { tabindex: "0", role: "img", "aria-label":
    `Map of ${number(answer.words.length)} words, words used alike are close to each other. Arrows move, plus and minus zoom; the search finds a word.` });
  stage.append(dots, names);
  const parts = alone ? [] : Object.entries(fields).flatMap(([field, values]) => (values?.length > 1 && values.length <= PARTS ? values.map((value) => ({ field, value })) : []));
  const chosen = h("div", { class: "chosen", role: "status" }, h("p", { class: "small" }, "Drag to move, wheel or pinch to zoom, click a word to open it; hold Shift and drag around words to list them."));
  const view = new Picture(points, dots, names, stage, (words) => list(chosen, answer, words));
  const colour = h("select", { id: "colour", change: async () => {
    const part = parts[colour.value];
    view.colour(colour.value, part && (await ask("ratios", part)).ratios);
  } },
    h("option", { value: "component" }, "strongest component"), h("option", { value: "count" }, "frequency"),
    parts.map(({ field, value }, at) => h("option", { value: at }, `more frequent in ${field} ${value}`)));
  const find = h("input", { id: "find", value: what, dir: "auto", autocomplete: "off" });
  page.append(
    h("h1", {}, "Map"),
    h("form", { class: "legend", submit: (event) => { event.preventDefault(); if (!view.find(find.value.trim())) fill(chosen, h("p", { role: "alert" }, `${find.value} is not on the map.`)); } },
      h("label", { for: "colour" }, "Colour by "), colour,
      h("label", { for: "find" }, "Find "), find, h("button", {}, "Show"),
      h("button", { type: "button", class: "quiet", click: () => view.home() }, "Whole map"),
      png("map", () => view.picture())),
    stage, chosen);
  const watch = new ResizeObserver(() => {
    if (!stage.isConnected && view.size) return watch.disconnect();
    view.resize();
    if (what && !view.shown) view.shown = view.find(what);
  });
  watch.observe(stage);
}

function list(place, answer, chosen) {
  const words = chosen.sort((a, b) => answer.counts[b] - answer.counts[a]);
  fill(place, 
    h("p", {}, `${number(words.length)} words `, csv("words of the map", () => [["word", "count", "x", "y"], ...words.map((at) => [answer.words[at], answer.counts[at], answer.x[at], answer.y[at]])])),
    h("p", { class: "words" }, words.slice(0, 300).map((at) => h("span", {}, word(answer.words[at]), h("small", {}, number(answer.counts[at])))),
      words.length > 300 && "…"));
}

/** Points as the graphics card takes them, and the order in which words are named. */
function arrange(answer) {
  const n = answer.words.length;
  const most = Math.log(Math.max(...answer.counts, 2)), least = Math.log(Math.max(1, answer.counts.at(-1)));
  const scale = (count) => (most > least ? (Math.log(Math.max(count, 1)) - least) / (most - least) : 0.5);
  return {
    ...answer, n,
    at: Float32Array.from({ length: 2 * n }, (_, k) => (k % 2 ? -answer.y[k >> 1] : answer.x[k >> 1])),
    share: Float32Array.from(answer.counts, scale),
    order: [...answer.counts.keys()], // by frequency already
  };
}

function colourOf(points, by, dark, ratios) {
  const bytes = new Uint8Array(4 * points.n);
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const seen = new Map();
  const rgb = (css) => {
    if (!seen.has(css)) {
      canvas.fillStyle = css;
      canvas.fillRect(0, 0, 1, 1);
      seen.set(css, canvas.getImageData(0, 0, 1, 1).data);
    }
    return seen.get(css);
  };
  for (let k = 0; k < points.n; k++) {
    const part = ratios && Math.max(-1, Math.min(1, ratios[k] / 4));
    const css = ratios
      ? `oklch(${dark ? 0.72 : 0.6} ${(0.17 * Math.abs(part)).toFixed(2)} ${part > 0 ? 40 : 250})`
      : by === "component"
      ? `oklch(${dark ? 0.75 : 0.58} 0.13 ${((points.components[k] * 137.508) % 360).toFixed(0)})`
      : `oklch(${(dark ? 0.45 + 0.4 * points.share[k] : 0.8 - 0.45 * points.share[k]).toFixed(2)} ${(0.05 + 0.12 * points.share[k]).toFixed(3)} ${dark ? 70 : 250})`;
    bytes.set(rgb(css), 4 * k);
  }
  return bytes;
}

const VERTEX = `#version 300 es
in vec2 at; in float share; in vec4 colour;
uniform vec2 scale, shift; uniform float size;
out vec4 fill;
void main() { gl_Position = vec4(at * scale + shift, 0.0, 1.0); gl_PointSize = size * (0.7 + 1.6 * share); fill = colour; }`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 fill; out vec4 shown;
void main() { float r = length(gl_PointCoord - 0.5); if (r > 0.5) discard; float a = 0.75 * smoothstep(0.5, 0.35, r); shown = vec4(fill.rgb * a, a); }`;

/** The picture: what is where under the present transform. */
class Picture {
  constructor(points, dots, names, stage, told) {
    Object.assign(this, { points, dots, names, stage, told, transform: zoomIdentity, by: "component", marked: -1, lasso: null, written: [], budget: points.n });
    this.tree = quadtree(points.order, (k) => points.at[2 * k], (k) => points.at[2 * k + 1]);
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => this.colour(this.by, this.ratios));
    this.zoom = zoom().scaleExtent([0.7, 200]).filter((event) => !event.shiftKey && !event.button)
      .on("zoom", ({ transform }) => { this.transform = transform; this.moved(); this.draw(); });
    select(names).call(this.zoom);
    names.addEventListener("click", (event) => { const k = this.under(event); if (k >= 0 && !event.shiftKey) has("word", { word: points.words[k] }) && (location.hash = address("word", points.words[k])); });
    names.addEventListener("pointermove", (event) => this.hover(event));
    names.addEventListener("pointerdown", (event) => { if (event.shiftKey) this.begin(event); });
    names.addEventListener("keydown", (event) => this.key(event));
    this.start();
  }

  start() {
    const gl = (this.gl = this.dots.getContext("webgl2", { antialias: false, premultipliedAlpha: true }));
    if (!gl) return;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    this.uniform = Object.fromEntries(["scale", "shift", "size"].map((name) => [name, gl.getUniformLocation(program, name)]));
    const fill = (name, data, width, type, normal) => {
      const place = gl.getAttribLocation(program, name);
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, width, type, normal, 0, 0);
      return buffer;
    };
    fill("at", this.points.at, 2, gl.FLOAT, false);
    fill("share", this.points.share, 1, gl.FLOAT, false);
    this.colours = fill("colour", colourOf(this.points, this.by, this.dark.matches), 4, gl.UNSIGNED_BYTE, true);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  colour(by, ratios = null) {
    [this.by, this.ratios] = [by, ratios];
    if (this.gl) {
      this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.colours);
      this.gl.bufferData(this.gl.ARRAY_BUFFER, colourOf(this.points, by, this.dark.matches, ratios), this.gl.STATIC_DRAW);
    }
    this.draw();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (!width) return;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.size = { width, height, ratio };
    for (const canvas of [this.dots, this.names]) [canvas.width, canvas.height] = [width * ratio, height * ratio];
    const half = Math.min(width, height) / 2.1;
    this.x = scaleLinear([-1, 1], [width / 2 - half, width / 2 + half]);
    this.y = scaleLinear([-1, 1], [height / 2 - half, height / 2 + half]);
    this.draw();
  }

  /** Where a point is, in pixels. */
  pixel(k) {
    const { transform, points } = this;
    return [transform.applyX(this.x(points.at[2 * k])), transform.applyY(this.y(points.at[2 * k + 1]))];
  }

  /**
   * While it moves, only as many of the most frequent words are drawn as the machine draws in time, so that also one
   * without a graphics card follows the hand; at rest all are.
   */
  moved() {
    clearTimeout(this.resting);
    this.moving = true;
    this.resting = setTimeout(() => { this.moving = false; this.last = null; this.draw(); }, REST);
  }

  pace() {
    const now = performance.now();
    const took = this.last ? now - this.last : null;
    this.last = now;
    if (took !== null && took < 10 * FRAME) this.budget = Math.round(Math.min(this.points.n, Math.max(FEWEST, this.budget * (took > 1.3 * FRAME ? 0.75 : 1.05))));
    return this.budget;
  }

  draw() {
    if (this.size && !this.waiting) this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.paint(); });
  }

  paint() {
    const { width, height, ratio } = this.size, { k, x, y } = this.transform, gl = this.gl;
    if (gl) {
      gl.viewport(0, 0, this.dots.width, this.dots.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      const unit = this.x(1) - this.x(0);
      gl.uniform2f(this.uniform.scale, (2 * k * unit) / width, (-2 * k * unit) / height);
      gl.uniform2f(this.uniform.shift, (2 * (k * this.x(0) + x)) / width - 1, 1 - (2 * (k * this.y(0) + y)) / height);
      gl.uniform1f(this.uniform.size, ratio * (2.2 + 1.1 * Math.log2(Math.max(1, k))));
      gl.drawArrays(gl.POINTS, 0, this.moving ? this.pace() : this.points.n); // the most frequent first
    }
    this.label();
    this.stage.dataset.painted = "";
  }

  /** What is written of a word, and half of its width. */
  name(k, pen) {
    if (!this.written[k]) {
      const word = this.points.words[k];
      const text = word.length > 24 ? word.slice(0, 23) + "…" : word;
      this.written[k] = { text, half: pen.measureText(text).width / 2 + 3 };
    }
    return this.written[k];
  }

  /** Name the most frequent words in sight, none over another. */
  label() {
    const { width, height, ratio } = this.size;
    const pen = this.names.getContext("2d");
    const style = getComputedStyle(this.stage);
    const [sheet, ink, accent] = ["--sheet", "--ink", "--accent"].map((name) => style.getPropertyValue(name));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = `13px ${style.fontFamily}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    const columns = Math.ceil(width / CELL[0]) + 1;
    const grid = new Map(); // boxes by the cells that they touch
    const write = (k, strong) => {
      const [x, y] = this.pixel(k);
      if (x < 0 || y < 0 || x > width || y > height) return false;
      const name = this.name(k, pen);
      const box = [x - name.half, y - 17, x + name.half, y - 1];
      const cells = [];
      for (let i = Math.floor(box[0] / CELL[0]); i <= Math.floor(box[2] / CELL[0]); i++)
        for (let j = Math.floor(box[1] / CELL[1]); j <= Math.floor(box[3] / CELL[1]); j++) {
          const cell = j * columns + i;
          const there = grid.get(cell);
          if (there && !strong && there.some((o) => !(box[2] < o[0] || box[0] > o[2] || box[3] < o[1] || box[1] > o[3]))) return false;
          cells.push(cell);
        }
      for (const cell of cells) (grid.get(cell) ?? grid.set(cell, []).get(cell)).push(box);
      pen.lineWidth = 3;
      pen.strokeStyle = sheet;
      pen.fillStyle = strong ? accent : ink;
      pen.strokeText(name.text, x, y - 9);
      pen.fillText(name.text, x, y - 9);
      return true;
    };
    if (this.marked >= 0) write(this.marked, true);
    let left = LABELS, tried = 0;
    for (const k of this.points.order) {
      if (k !== this.marked && write(k, false) && --left === 0) break;
      if (++tried > TRIED) break;
    }
    if (this.lasso?.length > 1) {
      pen.beginPath();
      this.lasso.forEach(([x, y], at) => (at ? pen.lineTo(x, y) : pen.moveTo(x, y)));
      pen.closePath();
      pen.lineWidth = 1.5;
      pen.strokeStyle = accent;
      pen.stroke();
    }
  }

  place(event) {
    const box = this.names.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** The word under the pointer. */
  under(event) {
    const [px, py] = this.place(event);
    const unit = this.x(1) - this.x(0);
    const k = this.tree.find(this.x.invert(this.transform.invertX(px)), this.y.invert(this.transform.invertY(py)), NEAR / unit / this.transform.k);
    return k ?? -1;
  }

  hover(event) {
    if (this.lasso) return;
    const k = this.under(event);
    this.names.style.cursor = k >= 0 ? "pointer" : "grab";
    if (k !== this.marked) { this.marked = k; this.draw(); }
  }

  begin(event) {
    event.preventDefault();
    this.lasso = [this.place(event)];
    const move = (next) => { this.lasso.push(this.place(next)); this.draw(); };
    const end = () => {
      this.names.removeEventListener("pointermove", move);
      const around = this.lasso;
      this.told(around.length > 2 ? this.points.order.filter((k) => polygonContains(around, this.pixel(k))) : []);
      this.lasso = null;
      this.draw();
    };
    this.names.setPointerCapture(event.pointerId);
    this.names.addEventListener("pointermove", move);
    this.names.addEventListener("pointerup", end, { once: true });
  }

  key(event) {
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    const zooms = { "+": 1.4, "=": 1.4, "-": 1 / 1.4 };
    if (event.key in moves) select(this.names).call(this.zoom.translateBy, ...moves[event.key].map((step) => step / this.transform.k));
    else if (event.key in zooms) select(this.names).call(this.zoom.scaleBy, zooms[event.key]);
    else return;
    event.preventDefault();
  }

  home() {
    this.marked = -1;
    select(this.names).call(this.zoom.transform, zoomIdentity);
  }

  /** Go to a word; say whether there is one. */
  find(text) {
    const at = this.points.words.indexOf(text) >= 0 ? this.points.words.indexOf(text) : this.points.words.indexOf(text.toLowerCase());
    if (at < 0) return false;
    this.marked = at;
    const k = 12, { width, height } = this.size;
    select(this.names).call(this.zoom.transform, zoomIdentity.translate(width / 2 - k * this.x(this.points.at[2 * at]), height / 2 - k * this.y(this.points.at[2 * at + 1])).scale(k));
    return true;
  }

  /** Dots and names on one sheet. */
  picture() {
    this.moving = false;
    this.paint(); // what a card has drawn is gone when a frame ends
    const sheet = h("canvas", { width: this.dots.width, height: this.dots.height });
    const pen = sheet.getContext("2d");
    pen.fillStyle = getComputedStyle(this.stage).getPropertyValue("--sheet");
    pen.fillRect(0, 0, sheet.width, sheet.height);
    pen.drawImage(this.dots, 0, 0);
    pen.drawImage(this.names, 0, 0);
    return sheet;
  }
}
