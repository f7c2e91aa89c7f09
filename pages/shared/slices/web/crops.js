// The crops of a page as a grid. One of them has the focus; the arrows move it.

import { el, say } from "../oddyssey.annotator/dom.js";
import { meets, overlay } from "./overlay.js";

export const VERDICTS = [
  { verdict: "accept", key: "y", name: "Fits", said: "fits" },
  { verdict: "reject", key: "n", name: "Does not", said: "does not fit" },
  { verdict: "unsure", key: "u", name: "?", said: "unsure" },
];

export class Crops {
  /** @param judge (crop, verdict) and @param open (crop) are called on clicks */
  constructor(judge, open) {
    Object.assign(this, { judge, open });
    this.node = el("div", { class: "crops", role: "group", "aria-label": "Crops; the arrow keys move between them" });
    this.tiles = [];
    this.at = 0;
  }

  /** Show other crops. */
  set(crops, images) {
    this.at = 0;
    this.shownAt = performance.now();
    this.tiles = crops.map((crop, i) => this.tile(crop, images[crop.image], i));
    this.node.replaceChildren(...this.tiles.map((t) => t.node));
  }

  tile(crop, image, i) {
    const tile = { crop, ready: false, since: null };
    const others = image.boxes.filter((b) => b.id !== crop.id && meets(b.box, crop.rect) && b.side !== "ignore");
    const context = others.filter((b) => b.side !== crop.side).map((b) => ({ box: b.box, look: `thin ${b.side}` }));
    const [x0, y0, x1, y1] = crop.rect;
    const shape = el("div", { class: (x1 - x0) / (y1 - y0) >= 4 / 3 ? "shape wide" : "shape tall" });
    shape.style.aspectRatio = `${x1 - x0} / ${y1 - y0}`;
    const said = `${crop.cls}, ${crop.size}, matching score ${crop.c}, ${crop.outcome}`;
    if (crop.url) {
      const img = el("img", { alt: said, loading: "lazy", decoding: "async", draggable: "false" });
      img.onload = () => {
        tile.ready = true;
        tile.node.dataset.ready = "1";
      };
      img.onerror = () => this.lost(tile, shape, "The picture did not load.");
      img.src = crop.src;
      shape.append(img);
    } else this.lost(tile, shape, crop.why);
    const whole = crop.side === "image";
    shape.append(...overlay(crop.rect, [...context, ...(whole ? [] : [{ box: crop.box, look: crop.tone, letter: crop.letter }])]));
    if (whole) shape.append(el("span", { class: `badge corner ${crop.tone}`, "aria-hidden": "true" }, crop.letter));
    tile.buttons = VERDICTS.map((v) =>
      el("button", { type: "button", tabindex: -1, title: `${v.said} (${v.key})`, "aria-label": v.said, "aria-pressed": "false", "data-verdict": v.verdict,
        onclick: () => this.judge(tile, v.verdict, false) }, v.name));
    tile.mine = el("span", { class: "hidden" });
    tile.node = el("div", { class: "crop", role: "group", "aria-roledescription": "crop", tabindex: i ? -1 : 0, "aria-label": `${i + 1}. ${said}`, "data-unit": crop.id },
      el("div", { class: "pic", onclick: () => this.open(tile) }, shape),
      el("p", {}, el("b", {}, crop.cls), `, ${crop.size}, c = ${crop.c}`, el("br"), crop.outcome),
      el("div", { class: "judge", role: "group", "aria-label": "Does it fit the statement?" }, ...tile.buttons), tile.mine);
    if (tile.why) tile.node.dataset.lost = "1";
    tile.node.onfocus = () => {
      this.point(i);
      tile.since ??= performance.now();
    };
    tile.node.onpointerdown = () => this.point(i);
    return tile;
  }

  lost(tile, shape, why) {
    tile.why = why;
    tile.node?.setAttribute("data-lost", "1");
    shape.querySelector("img")?.remove();
    shape.prepend(el("div", { class: "lost" }, why));
  }

  /** Which crop a key is about. */
  get current() {
    return this.tiles[this.at];
  }

  point(i) {
    this.tiles[this.at]?.node.setAttribute("tabindex", "-1");
    this.at = i;
    this.tiles[i]?.node.setAttribute("tabindex", "0");
  }

  /** Move the focus; gives false where there is no crop in that direction. */
  move(action) {
    const n = this.tiles.length, row = this.columns();
    const to = { left: this.at - 1, right: this.at + 1, up: this.at - row, down: this.at + row, home: 0, end: n - 1 }[action];
    if (to < 0 || to >= n) return false;
    this.focus(to);
    return true;
  }

  focus(i) {
    this.point(Math.min(i, this.tiles.length - 1));
    this.current?.node.focus();
    this.current?.node.scrollIntoView({ block: "nearest" });
  }

  columns() {
    const top = this.tiles[0]?.node.offsetTop;
    const next = this.tiles.findIndex((t) => t.node.offsetTop > top + 4);
    return next < 0 ? this.tiles.length : next;
  }

  /** Show what was said of each crop. @param verdict gives it by crop */
  paint(verdict) {
    for (const tile of this.tiles) {
      const now = verdict(tile.crop) ?? "";
      if (tile.shown === now) continue;
      tile.shown = now;
      tile.node.dataset.verdict = now;
      for (const b of tile.buttons) b.setAttribute("aria-pressed", String(b.dataset.verdict === now));
      say(tile.mine, now ? `You said: ${VERDICTS.find((v) => v.verdict === now)?.said}` : "");
    }
  }
}
