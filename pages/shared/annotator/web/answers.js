// The buttons of the answers: what each means, whether it can be taken now, and a flash when it was.

import { kbd } from "./cameras.js";
import { el } from "./dom.js";

/** Action, code of the label, and key of each. */
const BUTTONS = [["yes", "Y", "Y"], ["no", "N", "N"], ["unsure", "U", "Space"]];

export class Answers {
  /** @param answers [{label, name, short}]; @param click is called with the action */
  constructor(answers, click) {
    this.buttons = {};
    this.node = el("div", { class: "keys", role: "group", "aria-label": "Answers" });
    for (const [action, code, key] of BUTTONS) {
      const answer = answers.find((a) => a.label === code);
      const button = el(
        "button", { class: "key", type: "button", "aria-keyshortcuts": key, onclick: () => click(action) },
        kbd(key), el("span", {}, el("strong", {}, answer.name), el("small", {}, answer.short)),
      );
      this.buttons[action] = button;
      this.node.append(button);
    }
  }

  flash(action) {
    const b = this.buttons[action];
    b.classList.remove("hit");
    requestAnimationFrame(() => b.classList.add("hit"));
    setTimeout(() => b.classList.remove("hit"), 260);
  }

  /** @param state of the page: none, loading, painted, partial or broken */
  paint(state) {
    for (const [action, b] of Object.entries(this.buttons)) {
      const waits = state === "none" || state === "loading" || state === "broken" || (state === "partial" && action !== "unsure");
      b.setAttribute("aria-disabled", String(waits));
    }
  }
}
