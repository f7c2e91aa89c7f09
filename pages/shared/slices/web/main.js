// The gallery of a slice: crops by the page, judged by keys or buttons. It owns the keys while it has the focus.

import { el, say } from "../oddyssey.annotator/dom.js";
import { Notices } from "../oddyssey.annotator/notices.js";
import { Crops, VERDICTS } from "./crops.js";
import { Frame } from "./frame.js";
import { Outbox } from "./outbox.js";

const KEYS = {
  arrowleft: "left", arrowright: "right", arrowup: "up", arrowdown: "down", home: "home", end: "end", pageup: "before", pagedown: "after",
  enter: "open", escape: "close", backspace: "withdraw", delete: "withdraw", y: "accept", n: "reject", u: "unsure",
};
const running = new WeakMap();

export default function (component) {
  const { parentElement, data } = component;
  let gallery = running.get(parentElement);
  if (gallery && gallery.set !== data.set) {
    gallery.drop();
    gallery = null;
  }
  if (!gallery) running.set(parentElement, (gallery = new Gallery(component)));
  // Calls may arrive out of order: an older word does not count, and what is on the page is not given up for it.
  const [session, n] = gallery.serial ?? [];
  if (session !== data.serial[0] || n <= data.serial[1]) gallery.update(component);
  return () =>
    setTimeout(() => {
      if (gallery.root.isConnected) return;
      gallery.drop();
      if (running.get(parentElement) === gallery) running.delete(parentElement);
    });
}

/** Address of a file that the server gives out: beside the page, wherever the app is mounted. */
function address(base) {
  return new URL(base, new URL(".", location.href.replace(/\/+([?#]|$)/, "$1"))).href;
}

class Gallery {
  constructor(component) {
    const { data, parentElement } = component;
    this.component = component;
    this.set = data.set;
    this.outbox = new Outbox(data.set, (value) => this.component.setStateValue("outbox", value));
    this.crops = new Crops((tile, verdict, keyboard) => this.judge(tile, verdict, keyboard), (tile) => this.open(tile));
    this.frame = new Frame((action, keyboard) => this.act(action, keyboard));
    this.notices = new Notices();
    this.root = parentElement.querySelector(".od-gallery");
    this.count = el("b");
    this.saved = el("span", { class: "saved" });
    const go = (action, sign, name) => el("button", { class: "page", type: "button", "aria-label": name, title: name, onclick: () => this.act(action, false) }, sign);
    [this.before, this.after] = [go("before", "←", "Page before"), go("after", "→", "Next page")];
    this.pager = el("div", { class: "pager" }, this.before, this.count, this.after);
    const key = (k, what) => [el("kbd", {}, k), ` ${what}`];
    this.hint = el("p", { class: "hint" }, ...key("y", "fits  "), ...key("n", "does not  "), ...key("u", "unsure  "), ...key("⌫", "take back  "), ...key("← ↑ ↓ →", "move  "), ...key("Enter", "whole image"));
    this.none = el("p", { class: "none", hidden: true });
    this.root.replaceChildren(el("div", { class: "bar" }, this.pager, this.hint, this.saved), this.notices.node, this.crops.node, this.none, this.frame.node, this.notices.live);
    this.onKey = (e) => this.key(e);
    this.onLeave = (e) => this.outbox.events.length && e.preventDefault();
    this.root.addEventListener("keydown", this.onKey);
    window.addEventListener("beforeunload", this.onLeave);
    this.timer = setInterval(() => this.outbox.retry(), 1000);
    if (this.outbox.events.length) this.outbox.flush();
  }

  // ---- what the server says

  update(component) {
    this.component = component;
    const data = (this.data = component.data);
    this.serial = data.serial;
    for (const c of this.outbox.update(data)) this.notices.show("conflict", c.text, true);
    this.notices.show("error", data.error);
    const shown = JSON.stringify([data.hypothesis, data.tab, data.page, data.crops.map((c) => [c.id, c.url, c.outcome, c.c])]);
    if (shown !== this.shown) {
      const focus = this.follow ?? (this.root.contains(active()) && !this.frame.open ? "first" : "");
      this.follow = null;
      this.shown = shown;
      for (const c of data.crops) c.src = c.url && address(data.base) + c.url;
      this.crops.set(data.crops, data.images);
      if (this.frame.open && !focus) this.close();
      if (focus) this.arrive(focus);
      if (data.crops.length) this.notices.tell(this.range());
    }
    data.crops.forEach((c, i) => (this.crops.tiles[i].crop.verdict = c.verdict));
    delete this.root.dataset.waiting;
    if (this.frame.open) this.whole();
    this.none.hidden = data.crops.length > 0;
    say(this.none, data.none);
    this.paint();
  }

  arrive(focus) {
    const at = focus === "last" ? this.crops.tiles.length - 1 : 0;
    if (this.frame.open) {
      this.crops.point(at);
      this.whole();
    } else this.crops.focus(at);
  }

  range() {
    const { page, size, total } = this.data, n = (v) => v.toLocaleString("en");
    return total ? `${n(page * size + 1)} to ${n(Math.min((page + 1) * size, total))} of ${n(total)}` : "0 crops";
  }

  verdictOf(crop) {
    return this.outbox.verdict(this.data.hypothesis, crop.id, this.data.who) ?? crop.verdict;
  }

  paint() {
    const { page, pages } = this.data, waits = this.outbox.events.length;
    say(this.count, this.range());
    this.before.disabled = page <= 0;
    this.after.disabled = page + 1 >= pages;
    this.crops.paint((crop) => this.verdictOf(crop));
    if (this.frame.open) this.frame.paint(this.verdictOf(this.crops.current.crop));
    say(this.saved, waits ? `${waits} waiting to be saved` : this.judged ? "All saved" : "");
    this.saved.classList.toggle("busy", waits > 0);
    this.root.dataset.outbox = String(waits);
    this.root.dataset.page = String(page);
  }

  // ---- keys and buttons

  key(e) {
    const action = KEYS[e.key.toLowerCase()];
    if (!action || e.ctrlKey || e.metaKey || e.altKey || e.shiftKey || e.isComposing) return;
    const inside = e.composedPath()[0];
    if (!this.frame.open && !inside.closest?.(".crop")) return; // a button has the focus: its keys are its own
    if (action === "open" && inside.closest?.("button")) return;
    if (action === "close" && !this.frame.open) return;
    e.preventDefault();
    e.stopPropagation();
    if (!e.repeat || ["left", "right", "up", "down"].includes(action)) this.act(action, true);
  }

  act(action, keyboard) {
    const tile = this.crops.current;
    if (action === "before" || action === "after") this.turn(action === "after" ? 1 : -1, "first");
    else if (action === "close") this.close();
    else if (!tile) return;
    else if (action === "open") this.open(tile);
    else if (VERDICTS.some((v) => v.verdict === action) || action === "withdraw") this.judge(tile, action, keyboard);
    else this.move(action);
  }

  move(action) {
    if (this.frame.open) {
      const to = this.crops.at + ({ left: -1, right: 1 }[action] ?? 0);
      if (to < 0 || to >= this.crops.tiles.length) return this.turn(Math.sign(to - this.crops.at), to < 0 ? "last" : "first");
      this.crops.point(to);
      return this.whole();
    }
    if (!this.crops.move(action) && (action === "left" || action === "right")) this.turn(action === "right" ? 1 : -1, action === "right" ? "first" : "last");
  }

  /** Ask for another page; the focus goes to its first or last crop. */
  turn(by, focus) {
    const to = this.data.page + by;
    if (to < 0 || to >= this.data.pages || this.root.dataset.waiting) return;
    this.follow = focus;
    this.root.dataset.waiting = "1";
    this.component.setStateValue("page", { tab: this.data.tab, hypothesis: this.data.hypothesis, n: to });
  }

  judge(tile, verdict, keyboard) {
    const { crop } = tile, now = this.verdictOf(crop) ?? "";
    const why = !this.data.who ? "Say who you are first: judgements carry a name." : tile.why ? "There is no picture to judge." : tile.ready ? "" : "The picture is not here yet.";
    this.notices.show("blocked", why);
    this.frame.say(why);
    if (why) return this.notices.tell(why);
    if (!keyboard && verdict === now) verdict = "withdraw"; // a second click on the same button takes it back
    if (verdict === now || (verdict === "withdraw" && !now)) return;
    const seconds = Math.round((performance.now() - (tile.since ?? this.crops.shownAt)) / 100) / 10;
    this.judged = true;
    const { hypothesis, who, gamma, tab } = this.data;
    this.outbox.add({ hypothesis, unit: crop.id, verdict, who, payload: { c: crop.score, gamma, tab, seconds, keyboard } });
    this.notices.tell(verdict === "withdraw" ? "Taken back." : `Crop ${this.crops.at + 1} ${VERDICTS.find((v) => v.verdict === verdict).said}.`);
    if (keyboard && verdict !== "withdraw") this.move("right");
    this.paint();
  }

  // ---- the whole image

  open(tile) {
    this.crops.point(this.crops.tiles.indexOf(tile));
    this.whole();
  }

  /** Show the image of the crop at hand; the server lays it out once it is asked for. */
  whole() {
    const tile = this.crops.current, { frame } = this.data;
    if (!tile) return this.close();
    const here = frame && frame.image === tile.crop.image;
    if (!here && this.asked !== tile.crop.image) {
      this.asked = tile.crop.image;
      this.component.setStateValue("frame", tile.crop.image);
    }
    if (here) this.asked = null;
    this.frame.set(tile, this.data.images[tile.crop.image], here && frame.url ? address(this.data.base) + frame.url : "", here ? frame.why : "");
    this.frame.paint(this.verdictOf(tile.crop));
  }

  close() {
    this.frame.close();
    this.asked = null;
    if (this.crops.current) this.crops.focus(this.crops.at);
  }

  drop() {
    clearInterval(this.timer);
    window.removeEventListener("beforeunload", this.onLeave);
    this.root.removeEventListener("keydown", this.onKey);
    this.frame.close();
  }
}

/** What has the focus, also inside a shadow root. */
function active() {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return node;
}
