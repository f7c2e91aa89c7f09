// How far the work is: cases labelled, what is saved, the way back, and how many presses could not be taken.

import { kbd } from "./cameras.js";
import { el, say } from "./dom.js";

export class Progress {
  /** @param undo is called when the button is clicked */
  constructor(undo) {
    this.count = el("b");
    this.share = el("span");
    this.fillBar = el("i");
    this.bar = el("div", { class: "meter", role: "progressbar", "aria-label": "Cases labelled", "aria-valuemin": 0 }, this.fillBar);
    this.saved = el("span");
    this.undoButton = el("button", { class: "undo", type: "button", "aria-keyshortcuts": "Backspace", onclick: undo }, "↶ Undo last ", kbd("⌫"));
    this.miss = el("p", { class: "small ignored", hidden: true });
    this.node = el("section", { class: "progress" },
      el("div", { class: "row" }, this.count, this.share), this.bar, el("div", { class: "row" }, this.saved, this.undoButton), this.miss);
  }

  /** @param current the case on the screen, or null; @param answers [{label, name}] */
  paint(session, current, answers) {
    const { done, total, last, outbox } = session;
    const position = current?.position ?? done;
    const n = (v) => v.toLocaleString("en");
    say(this.count, total ? (current ? `Case ${n(position)} of ${n(total)}` : `${n(done)} of ${n(total)} cases`) : "");
    const share = total ? done / total : 0;
    say(this.share, total ? `${Math.floor(share * 100)}% done` : "");
    this.fillBar.style.width = `${Math.min(100, share * 100)}%`;
    this.bar.setAttribute("aria-valuemax", total);
    this.bar.setAttribute("aria-valuenow", done);
    const name = (code) => (answers.find((a) => a.label === code)?.name ?? code).toLowerCase();
    const labels = outbox.filter((e) => e.kind === "label").length;
    const waiting = outbox.length ? `${outbox.length} waiting to be saved` : "";
    say(this.saved, waiting && !labels ? waiting : last ? `${labels ? "Saving" : "Saved"}: case ${n(last.position)}, ${name(last.label)}${outbox.length > 1 ? ` (${waiting})` : ""}` : waiting || (done ? `${n(done)} saved` : "Nothing labelled yet"));
    this.saved.classList.toggle("busy", outbox.length > 0);
    this.undoButton.disabled = !session.canUndo();
  }

  /** Tell that `n` presses were ignored, and why the last one was; gives the whole sentence. */
  paintIgnored({ n, why }) {
    this.miss.hidden = !n;
    this.miss.replaceChildren(el("b", {}, `${n.toLocaleString("en")} key press${n === 1 ? "" : "es"} ignored`), `; the last one because ${why}.`);
    return this.miss.textContent;
  }
}
