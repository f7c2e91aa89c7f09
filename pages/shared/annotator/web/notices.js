// What is said beside the case: lines above it, at most one of a kind, and words for readers of screens.

import { el, say } from "./dom.js";

export class Notices {
  constructor() {
    this.node = el("div", { class: "notices" });
    this.live = el("div", { class: "hidden", "aria-live": "polite", role: "status" });
    this.of = {};
  }

  /** A line above the case; "" takes it away. */
  show(kind, text, closes = false, ...more) {
    this.of[kind]?.remove();
    delete this.of[kind];
    if (!text) return;
    const node = el("p", { class: `notice ${kind}`, role: kind === "bare" ? null : "alert" }, el("span", {}, text), ...more);
    if (closes) node.append(el("button", { class: "link", type: "button", onclick: () => this.show(kind, "") }, "Close"));
    this.of[kind] = node;
    this.node.append(node);
  }

  tell(text) {
    say(this.live, text);
  }
}
