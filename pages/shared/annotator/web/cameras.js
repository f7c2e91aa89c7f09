// The cameras: image and strips on one canvas each, the previous second in step on all of them, and the lens.

import { el, say } from "./dom.js";
import { drawRibbons, ORDER, STYLES } from "./ribbon.js";

const ROW = { front_left: 0, front: 0, front_right: 0, rear_left: 1, rear: 1, rear_right: 1 };
const LENS = 168;

export class Cameras {
  /** @param changed is called when playback or lens were used */
  constructor(changed) {
    this.changed = changed;
    this.grid = el("div", { class: "grid" });
    this.bar = el("div", { class: "bar", role: "group", "aria-label": "Playback and what is drawn" });
    this.show = { expert: true, planner: true, rated: true, history: true };
    this.zoom = 3;
    this.lensOn = true;
    this.panels = [];
    this.times = [0];
    this.at = 0;
    this.playing = 0;
    this.uses = { playback: 0, lens: 0 };
    this.buildBar();
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.grid);
  }

  buildBar() {
    this.play = el("button", { class: "tool", type: "button", onclick: () => this.toggle() });
    this.range = el("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Seconds before the decision" });
    this.range.oninput = () => this.step(Number(this.range.value) - this.at);
    this.clock = el("span", { class: "clock" });
    this.tools = el(
      "div", { class: "tools" },
      this.play,
      el("button", { class: "tool", type: "button", onclick: () => this.step(-1) }, "Step back ", kbd("←")),
      el("button", { class: "tool", type: "button", onclick: () => this.step(1) }, "Step ", kbd("→")),
      this.range,
      this.clock,
    );
    this.lensButton = el("button", { class: "tool", type: "button", onclick: () => this.magnify() });
    this.legend = el("div", { class: "legend" });
    this.bar.append(this.tools, this.lensButton, this.legend);
    this.paintPlay();
    this.paintLens();
  }

  /** Empty panels for a case. */
  set(view) {
    this.stop();
    this.view = view;
    this.hideLens();
    this.times = [...new Set(view.cameras.flatMap((c) => c.frames.map((f) => f.t)))].sort((a, b) => a - b);
    if (!this.times.length) this.times = [0];
    this.at = this.times.length - 1;
    this.uses = { playback: 0, lens: 0 };
    this.range.max = this.at;
    this.bar.hidden = !view.cameras.length;
    this.tools.hidden = this.times.length < 2;
    const shape = view.cameras.map((c) => c.name).join();
    if (shape !== this.shape) this.build(view.cameras);
    this.shape = shape;
    view.cameras.forEach((c, i) => Object.assign(this.panels[i], { camera: c, pictures: [], failed: "" }));
    this.buildLegend(view);
    this.clear();
  }

  build(cameras) {
    this.grid.replaceChildren();
    const front = cameras.filter((c) => ROW[c.name] === 0).length;
    const most = Math.max(front, cameras.length - front);
    this.grid.className = `grid of${most}`;
    this.panels = cameras.map((c, i) => {
      if (i === front && cameras.length > front)
        this.grid.append(el("p", { class: "rear" }, "Rear cameras, as seen looking back: the left panel shows the left side of the car"));
      const canvas = el("canvas", { role: "img", tabindex: 0 });
      const note = el("span", { class: "plain", hidden: true });
      const lens = el("canvas", { class: "lens", width: LENS * 2, height: LENS * 2, hidden: true, "aria-hidden": "true" });
      const failure = el("div", { class: "failure", hidden: true });
      const box = el("div", { class: "cam" }, canvas, el("span", { class: "name" }, c.title), note, failure, lens);
      this.grid.append(box);
      const panel = { box, canvas, lens, note, failure, pictures: [] };
      box.onpointermove = (e) => e.pointerType !== "touch" && this.lensAt(panel, e.offsetX / box.clientWidth, e.offsetY / box.clientHeight);
      box.onpointerleave = () => this.hideLens();
      box.addEventListener("wheel", (e) => this.wheel(e, panel), { passive: false });
      canvas.onblur = () => this.hideLens();
      return panel;
    });
  }

  buildLegend(view) {
    const there = ["expert", "planner", "rated", "history"].filter((w) => view.bev[w] || view.cameras.some((c) => c.ribbons[w]?.length));
    const keys = { expert: "1", planner: "2" };
    this.legend.replaceChildren(
      ...there.map((who) =>
        el(
          "button",
          { class: `who ${who}`, type: "button", "aria-pressed": String(this.show[who]), onclick: () => this.toggleWho(who) },
          el("i", { "aria-hidden": "true" }), STYLES[who].name, keys[who] ? " " : null, keys[who] ? kbd(keys[who]) : null,
        ),
      ),
    );
  }

  toggleWho(who) {
    this.show[who] = !this.show[who];
    this.legend.querySelector(`.${who}`)?.setAttribute("aria-pressed", String(this.show[who]));
    this.draw();
    this.changed("show");
  }

  /** Nothing on the panels: the case before must not be taken for this one. */
  clear() {
    for (const p of this.panels) {
      const g = p.canvas.getContext("2d");
      g.clearRect(0, 0, p.canvas.width, p.canvas.height);
      p.failure.hidden = true;
      p.note.hidden = true;
      p.box.classList.add("waiting");
      p.canvas.setAttribute("aria-label", `${p.camera.title} camera, loading`);
    }
    say(this.clock, "0.00 s");
  }

  /** Put images and strips on the panels. @param failed [[camera, reason], …] */
  fill(loaded, failed) {
    for (const p of this.panels) {
      p.pictures = p.camera.frames.map((f) => loaded.picture(f));
      const why = failed.find(([c]) => c === p.camera);
      p.failed = why ? why[1] : "";
      p.box.classList.remove("waiting");
      p.failure.hidden = !why;
      if (why) p.failure.textContent = `${p.camera.title} did not load: ${why[1]}.`;
      p.note.hidden = !p.camera.overlay;
      say(p.note, p.camera.overlay);
      const drawn = ORDER.filter((w) => p.camera.ribbons[w]?.length).map((w) => STYLES[w].name.toLowerCase());
      const strips = p.camera.overlay || (drawn.length ? `Drawn on the road: ${drawn.join(", ")}.` : "No trajectory in this view.");
      p.canvas.setAttribute("aria-label", why ? p.failure.textContent : `${p.camera.title} camera. ${strips}`);
    }
    this.draw();
  }

  /** Where an image lies in its panel: [left, top, pixels of the page per pixel of the image]. */
  place(p, width, height) {
    const [w, h] = [p.box.clientWidth, p.box.clientHeight];
    const scale = Math.min(w / width, h / height);
    return [(w - width * scale) / 2, (h - height * scale) / 2, scale];
  }

  draw() {
    if (!this.view) return;
    const shapes = this.panels.map((p) => this.size(p)).filter(Boolean);
    const ratio = shapes.length ? Math.min(...shapes.map(([w, h]) => w / h)) : 1.6;
    this.grid.style.setProperty("--ratio", String(Math.max(1.1, Math.min(2.2, ratio))));
    for (const p of this.panels) this.drawOne(p);
    say(this.clock, `${this.times[this.at].toFixed(2).replace("-", "−")} s`);
    this.range.value = this.at;
    this.range.setAttribute("aria-valuetext", `${(-this.times[this.at]).toFixed(2)} seconds before the decision`);
    this.lensDraw();
  }

  size(p) {
    const bitmap = p.pictures.at(-1)?.bitmap;
    if (bitmap) return [bitmap.width, bitmap.height];
    return p.camera?.width && p.camera?.height ? [p.camera.width, p.camera.height] : null;
  }

  frameAt(p) {
    const t = this.times[this.at];
    let k = p.camera.frames.length - 1;
    while (k > 0 && p.camera.frames[k].t > t + 1e-6) k--;
    return k;
  }

  drawOne(p) {
    const ratio = Math.min(2, devicePixelRatio || 1);
    const [w, h] = [p.box.clientWidth, p.box.clientHeight];
    if (p.canvas.width !== Math.round(w * ratio) || p.canvas.height !== Math.round(h * ratio)) {
      p.canvas.width = Math.round(w * ratio);
      p.canvas.height = Math.round(h * ratio);
    }
    const g = p.canvas.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    const size = this.size(p);
    if (!size || !p.pictures.length) return;
    this.paint(g, p, ...this.place(p, ...size));
  }

  /** Image and strips with the image's corner at (x, y). */
  paint(g, p, x, y, scale) {
    const [width, height] = this.size(p);
    const k = this.frameAt(p);
    const bitmap = p.pictures[k]?.bitmap;
    g.imageSmoothingQuality = "high";
    if (bitmap) g.drawImage(bitmap, x, y, width * scale, height * scale);
    g.save();
    g.beginPath();
    g.rect(x, y, width * scale, height * scale);
    g.clip();
    const strength = this.at === this.times.length - 1 ? 1 : 0.25;
    drawRibbons(g, p.camera, this.show, (u, v) => [x + u * scale, y + v * scale], strength);
    g.restore();
  }

  // ---- the previous second

  toggle() {
    if (this.times.length < 2) return;
    if (this.playing) return this.stop();
    this.uses.playback += 1;
    this.changed("playback");
    const span = this.times.at(-1) - this.times[0];
    const start = performance.now() - (this.at === this.times.length - 1 ? 0 : (this.times[this.at] - this.times[0]) * 1000);
    const hold = 0.6; // at the moment of the decision, before it starts again
    const tick = () => {
      const t = this.times[0] + (((performance.now() - start) / 1000) % (span + hold));
      let k = 0;
      while (k < this.times.length - 1 && this.times[k + 1] <= t + 1e-6) k++;
      if (k !== this.at) {
        this.at = k;
        this.draw();
      }
      this.playing = requestAnimationFrame(tick);
    };
    this.playing = requestAnimationFrame(tick);
    this.paintPlay();
  }

  stop() {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.paintPlay();
  }

  step(by) {
    if (this.times.length < 2) return;
    this.stop();
    const to = Math.max(0, Math.min(this.times.length - 1, this.at + by));
    if (to !== this.at) {
      this.at = to;
      this.uses.playback += 1;
      this.changed("playback");
      this.draw();
    }
  }

  paintPlay() {
    this.play.replaceChildren(this.playing ? "Pause " : "Play ", kbd("P"));
  }

  // ---- the lens

  magnify() {
    this.lensOn = !this.lensOn;
    this.paintLens();
    const focused = this.panels.find((p) => p.canvas === p.canvas.getRootNode().activeElement);
    if (this.lensOn && focused) this.lensAt(focused, 0.5, 0.55);
    else if (!this.lensOn) this.hideLens();
  }

  paintLens() {
    this.lensButton.setAttribute("aria-pressed", String(this.lensOn));
    this.lensButton.title = "Point at an image to magnify it; turn the wheel for 2 to 4 times. With the keyboard: Tab to a camera, arrows, + and −.";
    this.lensButton.replaceChildren(`Lens ${this.lensOn ? `${this.zoom}×` : "off"} `, kbd("M"));
  }

  wheel(e, panel) {
    if (!this.lens || this.lens.panel !== panel) return;
    e.preventDefault();
    this.zoomBy(e.deltaY < 0 ? 0.5 : -0.5);
  }

  zoomBy(by) {
    this.zoom = Math.max(2, Math.min(4, this.zoom + by));
    this.paintLens();
    this.lensDraw();
  }

  /** Move the lens of a camera that has the focus. @return whether there is one */
  nudge(dx, dy) {
    if (!this.lens || !this.lens.keyboard) return false;
    const { panel, u, v } = this.lens;
    this.lensAt(panel, Math.max(0, Math.min(1, u + dx * 0.04)), Math.max(0, Math.min(1, v + dy * 0.06)), true);
    return true;
  }

  lensAt(panel, u, v, keyboard = false) {
    if (!this.lensOn || !panel.pictures.length) return;
    if (this.lens && this.lens.panel !== panel) this.hideLens();
    this.lens = { since: performance.now(), ...this.lens, panel, u, v, keyboard: keyboard || panel.canvas === panel.canvas.getRootNode().activeElement };
    panel.lens.hidden = false;
    panel.lens.style.left = `${u * panel.box.clientWidth - LENS / 2}px`;
    panel.lens.style.top = `${v * panel.box.clientHeight - LENS / 2}px`;
    this.lensDraw();
  }

  lensDraw() {
    if (!this.lens) return;
    const { panel, u, v } = this.lens;
    const size = this.size(panel);
    if (!size) return;
    const [x, y, scale] = this.place(panel, ...size);
    const g = panel.lens.getContext("2d");
    g.setTransform(2, 0, 0, 2, 0, 0);
    g.fillStyle = "#0b0e12";
    g.fillRect(0, 0, LENS, LENS);
    const [px, py] = [u * panel.box.clientWidth, v * panel.box.clientHeight];
    this.paint(g, panel, LENS / 2 - (px - x) * this.zoom, LENS / 2 - (py - y) * this.zoom, scale * this.zoom);
  }

  hideLens() {
    if (!this.lens) return;
    this.uses.lens += performance.now() - this.lens.since;
    this.lens.panel.lens.hidden = true;
    this.lens = null;
  }

  /** How often the previous second was looked at, and how long the lens was on an image, in ms. */
  use() {
    const now = this.lens ? performance.now() - this.lens.since : 0;
    return { playback_n: this.uses.playback, magnifier_ms: Math.round(this.uses.lens + now) };
  }

  drop() {
    this.stop();
    this.resized.disconnect();
  }
}

export const kbd = (text) => el("kbd", {}, text);
