// What can be said beyond the answer: a comment, and which threats it is. Both are optional, and saved with the next answer at the latest.

import { el } from "./dom.js";

const LONGEST = 2000;

export class Forms {
  /** @param save is called with ("comment", {text}) or ("tags", {threats}) */
  constructor(data, save) {
    this.saved = save;
    this.chosen = new Set();
    this.changed = false;
    this.text = el("textarea", { rows: 2, maxlength: LONGEST, "aria-label": "Comment on this case" });
    this.text.onkeydown = (e) => {
      if (e.key === "Escape") this.text.blur();
      if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
        this.save();
        this.text.blur();
      }
    };
    this.comment = el("details", {}, el("summary", {}, "Comment"), this.text, el("p", { class: "small" }, "What made it hard, or what others should look at. Saved with your answer, or now with Ctrl+Enter; Escape leaves the field."));
    this.list = el("div", { class: "threats" });
    this.summary = el("summary", {}, "Which threat?");
    this.tags = el("details", { hidden: true }, this.summary, this.list);
    this.node = el("div", { class: "forms" }, this.comment, this.tags);
    this.setup(data);
  }

  /** The threats that can be chosen: [{name, threats: [{id, name, help}]}]. */
  setup(data) {
    const key = JSON.stringify(data.threats);
    if (key === this.key) return;
    this.key = key;
    this.tags.hidden = !data.threats.length;
    this.boxes = [];
    this.list.replaceChildren(
      ...data.threats.map((group) =>
        el(
          "fieldset", {}, el("legend", {}, group.name),
          ...group.threats.map((t) => {
            const box = el("input", { type: "checkbox", value: t.id });
            box.onchange = () => this.choose(box);
            this.boxes.push(box);
            return el("label", { title: t.help }, box, t.name);
          }),
        ),
      ),
    );
  }

  choose(box) {
    if (box.checked) this.chosen.add(box.value);
    else this.chosen.delete(box.value);
    this.changed = true;
    this.count();
  }

  count() {
    this.summary.textContent = this.chosen.size ? `Which threat? ${this.chosen.size} chosen` : "Which threat?";
  }

  /** Hand over what was written or chosen since the last time. */
  save() {
    const text = this.text.value.trim();
    if (text) this.saved("comment", { text });
    this.text.value = "";
    if (this.changed) this.saved("tags", { threats: [...this.chosen] });
    this.changed = false;
  }

  /** Empty for the next case; what is open stays open. */
  clear() {
    this.text.value = "";
    this.chosen.clear();
    this.changed = false;
    for (const box of this.boxes ?? []) box.checked = false;
    this.count();
  }
}
