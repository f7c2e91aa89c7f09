// The whole image of a crop, above the page, with its boxes: the unit, what lies near it, ground truth and predictions.

import { el, say } from "../oddyssey.annotator/dom.js";
import { VERDICTS } from "./crops.js";
import { gap, overlay } from "./overlay.js";

const LAYERS = [["unit", "This unit"], ["near", "Neighbours"], ["gt", "Ground truth"], ["pred", "Predictions"]];

export class Frame {
  /** @param act is called with the name of an action, as for a key */
  constructor(act) {
    this.show = { unit: true, near: false, gt: true, pred: true };
    this.title = el("p", { class: "frame-title", tabindex: -1 });
    this.toggles = LAYERS.map(([name, label]) =>
      el("button", { type: "button", class: `layer ${name}`, "aria-pressed": String(this.show[name]), "data-layer": name, onclick: (e) => this.toggle(name, e.currentTarget) },
        el("i", { "aria-hidden": "true" }), label));
    this.told = el("p", { class: "frame-told", hidden: true });
    this.place = el("div", { class: "frame-place" });
    this.judge = VERDICTS.map((v) => el("button", { type: "button", "data-verdict": v.verdict, "aria-pressed": "false", onclick: () => act(v.verdict, false) }, v.name === "?" ? "Unsure" : v.name, " ", el("kbd", {}, v.key)));
    const go = (action, sign, name) => el("button", { type: "button", "aria-label": name, title: name, onclick: () => act(action, false) }, sign);
    this.node = el("dialog", { class: "frame", "aria-label": "The whole image" },
      el("div", { class: "frame-head" }, this.title, el("div", { class: "frame-go" }, go("left", "←", "The crop before"), go("right", "→", "The next crop"), go("close", "Close", "Close (Esc)"))),
      el("div", { class: "frame-layers", role: "group", "aria-label": "Boxes" }, ...this.toggles), this.told, this.place,
      el("div", { class: "judge large", role: "group", "aria-label": "Does it fit the statement?" }, ...this.judge));
    this.node.onclick = (e) => e.target === this.node && act("close", false);
    this.node.oncancel = (e) => {
      e.preventDefault();
      act("close", true);
    };
  }

  get open() {
    return this.node.open;
  }

  toggle(name, button) {
    this.show[name] = !this.show[name];
    button.setAttribute("aria-pressed", String(this.show[name]));
    this.draw();
  }

  /** @param tile the crop; @param image its size and boxes; @param src address of the image, "" while it is not known; @param why it cannot be shown */
  set(tile, image, src, why) {
    if (this.tile !== tile) this.say("");
    Object.assign(this, { tile, image, src, why });
    const { crop } = tile;
    this.title.replaceChildren(el("b", {}, crop.cls), `, ${crop.size}, c = ${crop.c}: ${crop.outcome}. `, el("span", {}, `${image.name}, ${image.w} × ${image.h} px`));
    this.draw();
    if (!this.node.open) {
      this.node.showModal();
      this.title.focus(); // not a button, which Enter and Space would press
    }
  }

  draw() {
    const { crop } = this.tile, { w, h, boxes } = this.image;
    const frame = el("div", { class: "whole" });
    frame.style.aspectRatio = `${w} / ${h}`;
    frame.style.setProperty("--ratio", w / h);
    if (this.src) {
      const img = el("img", { alt: `The image ${this.image.name}` });
      img.onload = () => (this.node.dataset.frame = String(crop.image));
      img.onerror = () => frame.prepend(el("div", { class: "lost" }, "The image did not load."));
      img.src = this.src;
      frame.append(img);
    } else frame.append(el("div", { class: "lost" }, this.why || "Loading the image …"));
    const reach = Math.max(crop.box[2] - crop.box[0], crop.box[3] - crop.box[1]);
    const drawn = [], crowded = boxes.length > 14; // then only boxes close to the unit are named
    for (const b of boxes) {
      if (b.id === crop.id) continue;
      const close = gap(b.box, crop.box) < (crowded ? reach / 4 : Infinity), near = b.side === crop.side && gap(b.box, crop.box) < reach;
      const name = b.side === "ignore" ? `ignored: ${b.cls}` : `${b.cls}${b.score === null ? "" : ` ${b.score.toFixed(2)}`}`;
      if (b.side === "ignore" ? this.show.gt : this.show[b.side]) drawn.push({ box: b.box, look: `thin ${b.side}`, label: close ? name : "" });
      if (near && this.show.near) drawn.push({ box: b.box, look: "near", label: this.show[b.side] ? "" : b.cls });
    }
    if (this.show.unit && crop.side !== "image") drawn.push({ box: crop.box, look: crop.tone, letter: crop.letter });
    frame.append(...overlay([0, 0, w, h], drawn));
    this.place.replaceChildren(frame);
  }

  /** A line inside the dialog, behind which those of the page cannot be seen. */
  say(text) {
    this.told.hidden = !text;
    say(this.told, text);
  }

  paint(verdict) {
    for (const b of this.judge) b.setAttribute("aria-pressed", String(b.dataset.verdict === verdict));
  }

  close() {
    if (this.node.open) this.node.close();
    delete this.node.dataset.frame;
    this.place.replaceChildren();
    say(this.title, "");
  }
}
