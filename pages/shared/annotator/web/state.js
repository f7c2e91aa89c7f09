// The numbers of a case: speed over time, speeds at whole seconds, where the planner ends, who stops.

import { el, say, svg } from "./dom.js";

const LEFT = 26, RIGHT = 68, TOP = 8, BOTTOM = 20, HEIGHT = 100;

export class State {
  constructor() {
    this.strip = el("div", { class: "strip" });
    this.table = el("table");
    this.node = el("section", {}, el("h2", {}, "Speed ", el("span", {}, "m/s")), this.strip, this.table);
    this.resized = new ResizeObserver(() => this.view && Math.abs(this.strip.clientWidth - this.width) > 4 && this.draw());
    this.resized.observe(this.strip);
  }

  set(view, show) {
    Object.assign(this, { view, show });
    this.draw();
    this.fill();
  }

  clear() {
    this.view = null;
    this.strip.replaceChildren();
    this.table.replaceChildren();
  }

  draw() {
    const { speed } = this.view;
    const width = (this.width = this.strip.clientWidth || 360);
    const end = Math.max(...speed.t), top = niceTop(speed.max);
    const X = (t) => LEFT + (t / end) * (width - LEFT - RIGHT), Y = (v) => HEIGHT - BOTTOM - (v / top) * (HEIGHT - BOTTOM - TOP);
    const image = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": "Speed over time; the numbers stand in the table below" });
    for (const v of [0, top / 2, top]) {
      image.append(svg("line", { class: v ? "grid" : "axis", x1: LEFT, x2: width - RIGHT, y1: Y(v), y2: Y(v) }));
      image.append(svg("text", { class: "tick", x: LEFT - 7, y: Y(v) + 3.5, "text-anchor": "end" }, `${v}`));
    }
    for (let t = 0; t <= end + 1e-6; t++) image.append(svg("text", { class: "tick", x: X(t), y: HEIGHT - 5, "text-anchor": "middle" }, `${t} s`));
    const ends = [];
    for (const [who, name] of [["expert", "Expert"], ["rated", "Best rated"], ["planner", "Planner"]]) {
      const values = speed[who];
      if (!values || !this.show[who]) continue;
      let piece = [], last = null;
      const out = () => piece.length > 1 && image.append(svg("polyline", { class: `track ${who}`, points: piece.join(" ") }));
      values.forEach((v, i) => {
        if (v === null) {
          out();
          piece = [];
        } else {
          piece.push(`${X(speed.t[i]).toFixed(1)},${Y(v).toFixed(1)}`);
          last = [X(speed.t[i]), Y(v)];
        }
      });
      out();
      if (last) ends.push({ who, name, y: last[1], at: last[1], x: last[0] });
    }
    ends.sort((a, b) => a.y - b.y);
    for (let i = 1; i < ends.length; i++) ends[i].at = Math.max(ends[i].at, ends[i - 1].at + 13);
    const over = Math.max(0, (ends.at(-1)?.at ?? 0) - (HEIGHT - BOTTOM + 3));
    for (const e of ends) image.append(svg("text", { class: `letter ${e.who}`, x: width - RIGHT + 6, y: e.at - over + 4 }, e.name));
    this.strip.replaceChildren(image);
  }

  fill() {
    const { table } = this.view;
    const n = table.seconds.length;
    const head = el("tr", {}, el("th", { scope: "col" }, "Speed, m/s"), ...table.seconds.map((s) => el("th", { scope: "col" }, `${s} s`)));
    const row = (name, values) =>
      el("tr", {}, el("th", { scope: "row" }, name), ...table.seconds.map((_, i) => el("td", {}, values[i] === null || values[i] === undefined ? "–" : values[i].toFixed(1))));
    const half = Math.ceil(n / 2);
    const wide = (name, a, b) => el("tr", {}, el("th", { scope: "row" }, name), el("td", { colspan: half }, a), el("td", { colspan: Math.max(1, n - half) }, b));
    const e = table.end;
    const ahead = e ? `${Math.abs(e.ahead_m).toFixed(1)} m ${e.ahead_m < 0 ? "behind" : "ahead"}` : "not known";
    const side = e ? (Math.abs(e.left_m) < 0.05 ? "0.0 m aside" : `${Math.abs(e.left_m).toFixed(1)} m ${e.left_m > 0 ? "left" : "right"}`) : "";
    const stop = (who) => (table.stops[who] === "yes" && table.stop_at[who] !== null ? `yes, at ${table.stop_at[who].toFixed(1)} s` : table.stops[who]);
    const after = e ? `Planner after ${e.t.toFixed(e.t % 1 ? 2 : 0)} s` : "Planner at the end";
    this.table.replaceChildren(
      el("caption", { class: "hidden" }, "Speeds at whole seconds, where the planner ends seen from the expert, and who stops"),
      el("thead", {}, head),
      el("tbody", {}, row("Expert", table.expert), row("Planner", table.planner), wide(after, ahead, side), wide("Stops", `expert: ${stop("expert")}`, `planner: ${stop("planner")}`)),
    );
  }

  drop() {
    this.resized.disconnect();
  }
}

function niceTop(v) {
  for (const t of [2, 4, 6, 8, 10, 12, 16, 20, 24, 30, 40, 50, 60]) if (v <= t) return t;
  return Math.ceil(v / 20) * 20;
}
