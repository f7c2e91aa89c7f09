// The keys of the page. One listener owns them; it never acts while somebody types, holds a modifier, reads a dialog, or leans on a key.

const ACTIONS = {
  y: "yes", n: "no", " ": "unsure", backspace: "undo", arrowleft: "back", arrowright: "forward", arrowup: "up", arrowdown: "down",
  p: "play", m: "lens", 1: "expert", 2: "planner", g: "guidance", "+": "closer", "-": "wider",
};
const TYPED = /^(text|search|url|tel|email|password|number|date|time|datetime-local|month|week)$/;

export class Keys {
  /** @param act is called with the name of the action and gives whether the key was used */
  constructor(act) {
    this.act = act;
    this.tabbed = false; // the focus was last moved by the Tab key, so Space and Enter belong to what has it
    this.down = (e) => this.key(e);
    this.pointer = () => (this.tabbed = false);
    document.addEventListener("keydown", this.down, true);
    document.addEventListener("pointerdown", this.pointer, true);
  }

  key(e) {
    if (e.key === "Tab") this.tabbed = true;
    const action = ACTIONS[e.key.toLowerCase()];
    if (!action || e.ctrlKey || e.metaKey || e.altKey || (e.shiftKey && e.key !== "+") || e.isComposing) return;
    const at = e.composedPath()[0];
    if (typing(at) || document.querySelector('[role="dialog"]')) return;
    if (e.repeat) {
      if (action !== "up" && action !== "down") e.preventDefault(); // a held key is one press; it must not scroll either
      e.stopPropagation();
      return;
    }
    if (action === "unsure" && this.tabbed && at?.closest?.("button, a, summary, input, [role=button], [role=switch]")) return;
    if (this.act(action)) {
      e.preventDefault();
      e.stopPropagation();
    }
  }

  drop() {
    document.removeEventListener("keydown", this.down, true);
    document.removeEventListener("pointerdown", this.pointer, true);
  }
}

function typing(node) {
  if (!node || !node.tagName) return false;
  if (node.isContentEditable || /^(TEXTAREA|SELECT)$/.test(node.tagName)) return true;
  return node.tagName === "INPUT" && TYPED.test(node.type);
}
