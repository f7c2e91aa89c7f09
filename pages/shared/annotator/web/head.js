// The head of the page: which question is asked of which case, or why none is. It also takes the focus when nothing else should have it.

import { kbd } from "./cameras.js";
import { el, say } from "./dom.js";

export class Head {
  /** @param guidance its version; @param open is called when it is to be opened */
  constructor(guidance, open) {
    this.eyebrow = el("div", { class: "eyebrow" });
    this.title = el("h1", { class: "od-head", tabindex: -1 });
    this.prov = el("p", { class: "prov" });
    this.guide = el("button", { class: "link", type: "button", onclick: open }, `Guidance ${guidance} `, kbd("G"));
    this.node = el("header", {}, this.eyebrow, this.title, this.prov);
  }

  say(title, below) {
    say(this.title, title);
    say(this.prov, below);
  }

  /** The question about a case, and where the case is from. */
  ask(title, view) {
    this.eyebrow.replaceChildren(title, view.synthetic ? el("span", { class: "synthetic" }, "Synthetic data") : "");
    say(this.title, view.question);
    const command = view.command === "unknown" ? "command not known" : `command ${view.command}`;
    const from = [view.dataset, view.licence].filter(Boolean).join(", ") || "source not named";
    this.prov.replaceChildren(`Scene ${view.scene}, ${command}, ${from}. Planner hidden. `, this.guide);
  }

  /** No case is on the screen: all `n` are labelled, or (`over` is false) the next ones are not here yet. */
  rest(title, over, n) {
    this.eyebrow.textContent = title;
    if (!over) return this.say("The next cases are on their way.", "Every key that was taken is kept.");
    const all = n === 1 ? "The only case is labelled." : n ? `All ${n.toLocaleString("en")} cases are labelled.` : "No case waits for a label here.";
    this.say(all, n ? "Every label is saved. Undo brings the last case back." : "");
  }

  focus() {
    this.title.focus({ preventScroll: true });
  }

  /** Take the focus back once a dialog came and went: it is not ours, and leaves the focus nowhere. */
  focusAfterDialog() {
    clearInterval(this.reading);
    let open = false;
    this.reading = setInterval(() => {
      const shown = Boolean(document.querySelector('[role="dialog"]'));
      if (shown === open) return;
      open = shown;
      if (open) return;
      clearInterval(this.reading);
      if (document.activeElement === document.body) this.focus();
    }, 100);
  }

  drop() {
    clearInterval(this.reading);
  }
}
