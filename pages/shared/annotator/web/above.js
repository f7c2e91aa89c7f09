// The scene from above: metre grid, what is known of road and others, and the trajectories with a mark each second.

import { el, say, svg } from "./dom.js";

const LAYERS = { agents: "other road users", map: "the map", static_objects: "things on the road", signals: "signals" };
const LEFT = 42, BOTTOM = 22, TOP = 8, RIGHT = 8;

export class Above {
  constructor() {
    this.sub = el("span");
    this.box = el("div", { class: "above" });
    this.unknown = el("p", { class: "small" });
    this.node = el("section", {}, el("h2", {}, "From above ", this.sub), this.box, this.unknown);
    this.width = 0;
    this.resized = new ResizeObserver(() => this.view && Math.abs(this.box.clientWidth - this.width) > 4 && this.draw());
    this.resized.observe(this.box);
  }

  set(view, show, large) {
    Object.assign(this, { view, show, large });
    this.node.classList.toggle("large", large);
    this.draw();
  }

  clear() {
    this.view = null;
    this.box.replaceChildren();
    say(this.sub, "");
    say(this.unknown, "");
  }

  draw() {
    const { bev } = this.view;
    this.width = this.box.clientWidth || 360;
    const height = this.large ? 560 : 300;
    const [x0, x1] = bev.extent.x, [y0, y1] = bev.extent.y;
    const w = this.width - LEFT - RIGHT, h = height - TOP - BOTTOM;
    let across = w / (y1 - y0), along = h / (x1 - x0);
    if (across < along) along = across; // never squeezed sideways
    if (across > along * 6) across = along * 6;
    const middle = LEFT + w / 2 + ((y0 + y1) / 2) * across;
    const X = (y) => middle - y * across, Y = (x) => TOP + (x1 - x) * along;
    const p = ([x, y]) => `${X(y).toFixed(1)},${Y(x).toFixed(1)}`;
    const all = (points) => points.map(p).join(" ");
    const stretch = across / along;
    say(this.sub, `metres; a mark each second${stretch > 1.05 ? `; sideways ×${stretch.toFixed(1)}` : ""}`);
    const clip = `c${Math.random().toString(36).slice(2)}`;
    const frame = { x: LEFT, y: TOP, width: w, height: (x1 - x0) * along };
    const g = svg("g", { "clip-path": `url(#${clip})` });
    const texts = svg("g", {});
    this.grid(g, texts, bev, { X, Y, frame, across, along });
    for (const a of bev.areas) g.append(svg("polygon", { class: `area ${word(a.kind)} ${word(a.use)}`, points: all(a.points) }));
    for (const l of bev.lines)
      g.append(svg("polyline", { class: `line ${word(l.kind)} ${word(l.colour)} ${l.dashed ? "dashed" : ""}`, points: all(l.points) }));
    for (const t of bev.things) g.append(thing(t, all, X, Y, "thing"));
    for (const a of bev.agents) {
      const known = `${a.kind}${a.parked ? ", parked" : ""}${a.velocity ? `, ${Math.hypot(...a.velocity).toFixed(1)} m/s` : ""}`;
      const one = svg("g", { class: `agent ${word(a.kind)} ${a.parked ? "parked" : ""}` }, svg("title", {}, known));
      if (a.future) one.append(svg("polyline", { class: "future", points: all(a.future.filter(Boolean)) }));
      one.append(svg("polygon", { points: all(a.outline) }), svg("polyline", { class: "nose", points: all(a.front) }));
      for (const [, x, y] of a.seconds) one.append(svg("circle", { class: "future", cx: X(y), cy: Y(x), r: 1.6 }));
      g.append(one);
    }
    for (const s of bev.signals) {
      const mark = thing(s, all, X, Y, `signal ${word(s.state)}`);
      mark.append(svg("title", {}, `${s.kind.replaceAll("_", " ")}${s.state ? `, ${s.state}` : ""}`));
      g.append(mark);
    }
    g.append(svg("polygon", { class: "ego", points: all(bev.ego) }));
    if (bev.history && this.show.history) g.append(svg("polyline", { class: "track history", points: all(bev.history) }));
    for (const who of ["expert", "rated", "planner"]) if (bev[who] && this.show[who]) this.track(g, texts, bev[who], who, { X, Y, all });
    const title = "Scene from above. " + this.view.question.replace(/ Is that.*$/, "");
    const image = svg("svg", { viewBox: `0 0 ${this.width} ${TOP + frame.height + BOTTOM}`, width: this.width, height: TOP + frame.height + BOTTOM, role: "img", "aria-label": title });
    image.append(svg("clipPath", { id: clip }, svg("rect", frame)), g, texts);
    this.box.replaceChildren(image);
    const unknown = bev.unknown.map((k) => LAYERS[k] ?? k);
    say(this.unknown, unknown.length ? `Not known here: ${unknown.join(", ")}.` : "");
  }

  grid(g, texts, bev, { X, Y, frame, across, along }) {
    const step = bev.grid_m;
    const [x0, x1] = bev.extent.x, [y0, y1] = bev.extent.y;
    const every = along * step < 26 ? step * 2 : step;
    for (let x = Math.ceil(x0 / step) * step; x <= x1 + 1e-6; x += step) {
      g.append(svg("line", { class: "grid", x1: frame.x, x2: frame.x + frame.width, y1: Y(x), y2: Y(x) }));
      if (Math.abs(x % every) < 1e-6) texts.append(svg("text", { class: "tick", x: frame.x - 7, y: Y(x) + 3.5, "text-anchor": "end" }, `${x < 0 ? "−" : ""}${Math.abs(x)} m`));
    }
    const half = (frame.width / 2 / across) * 1.2 + Math.max(Math.abs(y0), Math.abs(y1));
    const fine = across * step > 120 ? step / 5 : across * step > 60 ? step / 2 : step;
    const named = [1, 2, 4, 8].map((k) => k * fine).find((d) => d * across > 72) ?? 16 * fine;
    for (let k = Math.floor(half / fine); k >= -Math.floor(half / fine); k--) {
      const y = k * fine, at = X(y);
      if (at < frame.x - 0.5 || at > frame.x + frame.width + 0.5) continue;
      g.append(svg("line", { class: "grid", x1: at, x2: at, y1: frame.y, y2: frame.y + frame.height }));
      const text = y === 0 ? "0" : `${Math.abs(y)} m ${y > 0 ? "left" : "right"}`;
      if (Math.abs(y % named) > 1e-6 || at + text.length * 3 > frame.x + frame.width + 8) continue;
      texts.append(svg("text", { class: "tick", x: at, y: frame.y + frame.height + 15, "text-anchor": "middle" }, text));
    }
  }

  track(g, texts, track, who, { X, Y, all }) {
    if (track.end) g.append(svg("polygon", { class: `end ${who}`, points: all(track.end) }));
    const pieces = [[]];
    for (const q of track.points) q ? pieces.at(-1).push(q) : pieces.push([]);
    for (const piece of pieces) if (piece.length > 1) g.append(svg("polyline", { class: `track ${who}`, points: all(piece) }));
    let shown = null;
    for (const [t, x, y] of who === "rated" ? [] : track.seconds) {
      const [u, v] = [X(y), Y(x)];
      const mark = who === "expert" ? svg("circle", { cx: u, cy: v, r: 4 }) : svg("rect", { x: u - 3.6, y: v - 3.6, width: 7.2, height: 7.2 });
      mark.setAttribute("class", `mark ${who}`);
      g.append(mark);
      if (!shown || Math.hypot(u - shown[0], v - shown[1]) > 15) {
        texts.append(svg("text", { class: "tick second", x: u + (who === "expert" ? -9 : 9), y: v + 3.5, "text-anchor": who === "expert" ? "end" : "start" }, `${t}`));
        shown = [u, v];
      }
    }
    const last = track.points.filter(Boolean).at(-1);
    const letter = { expert: "E", planner: "P", rated: "R" }[who];
    if (last) texts.append(svg("text", { class: `letter ${who}`, x: X(last[1]) + (who === "expert" ? -3 : 3), y: Math.max(12, Y(last[0]) - 8), "text-anchor": who === "expert" ? "end" : "start" }, letter));
  }

  drop() {
    this.resized.disconnect();
  }
}

const word = (text) => String(text ?? "").replace(/[^a-z0-9_-]/gi, "-");

function thing(t, all, X, Y, kind) {
  const one = svg("g", { class: `${kind} ${word(t.kind)}` });
  if (t.points.length === 1) one.append(svg("circle", { cx: X(t.points[0][1]), cy: Y(t.points[0][0]), r: 2.6 }));
  else one.append(svg(t.closed ? "polygon" : "polyline", { points: all(t.points) }));
  return one;
}
