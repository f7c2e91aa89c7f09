// The page on which people label. It owns the keys, shows one case at a time, and goes on to the next one without asking the server.

import { Above } from "./above.js";
import { Answers } from "./answers.js";
import { Cameras } from "./cameras.js";
import { el, painted, say } from "./dom.js";
import { Forms } from "./forms.js";
import { Head } from "./head.js";
import { Keys } from "./keys.js";
import { Shelf } from "./loader.js";
import { Notices } from "./notices.js";
import { Progress } from "./progress.js";
import { Session } from "./session.js";
import { State } from "./state.js";

/** A case counts as seen after this time on the screen, in ms. */
const SEEN = 200;
const CODES = { yes: "Y", no: "N", unsure: "U" };

const running = new WeakMap();

export default function (component) {
  const { parentElement, data } = component;
  let page = running.get(parentElement);
  if (page && page.key !== keyOf(data)) {
    page.drop();
    page = null;
  }
  if (!page) running.set(parentElement, (page = new Page(component)));
  // Calls are asynchronous and may arrive out of order; and where a newer one overtook this one, Streamlit cleans up after this one
  // although the component stays. So an older word does not count, and what is on the page is not given up.
  const [session, n] = page.serial ?? [];
  if (session !== data.serial[0] || n <= data.serial[1]) page.update(component);
  return () =>
    setTimeout(() => {
      if (page.root.isConnected) return;
      page.drop();
      if (running.get(parentElement) === page) running.delete(parentElement);
    });
}

const keyOf = (data) => [data.annotator, data.set, data.round, data.base].join("|");

/** Address of a file that the server gives out: beside the page, wherever the app is mounted. */
function address(base) {
  return new URL(base, new URL(".", location.href.replace(/\/+([?#]|$)/, "$1"))).href;
}

class Page {
  constructor(component) {
    const { data, parentElement } = component;
    this.key = keyOf(data);
    this.component = component;
    this.data = data;
    this.session = new Session(data, (outbox) => this.component.setStateValue("outbox", outbox));
    this.shelf = new Shelf(address(data.base));
    this.current = null;
    this.state = "none"; // none, loading, painted, partial (an image failed), broken (nothing to show)
    this.ignored = { n: 0, why: "" };
    this.hidden = { since: document.hidden ? performance.now() : 0, ms: 0 };
    this.cameras = new Cameras((what) => what === "show" && this.redraw());
    this.above = new Above();
    this.numbers = new State();
    this.answers = new Answers(data.answers, (action) => this.click(action));
    this.head = new Head(data.guidance, () => this.click("guidance"));
    this.notices = new Notices();
    this.progress = new Progress(() => this.click("undo"));
    this.forms = new Forms(data, (kind, payload) => this.remark(kind, payload));
    this.build(parentElement.querySelector(".od-label"));
    this.keys = new Keys((action) => this.act(action));
    this.onVisible = () => this.visibility();
    this.onLeave = (e) => this.session.outbox.length && e.preventDefault();
    document.addEventListener("visibilitychange", this.onVisible);
    window.addEventListener("beforeunload", this.onLeave);
    this.timer = setInterval(() => this.session.retry(), 1000);
    if (this.session.outbox.length) this.session.flush();
  }

  build(root) {
    this.root = root;
    const side = el("div", { class: "side" }, this.progress.node, this.above.node, this.numbers.node);
    this.work = el("div", { class: "work" }, this.cameras.grid, this.cameras.bar, this.answers.node, this.forms.node);
    this.finish = el("div", { class: "finish", hidden: true });
    this.main = el("div", { class: "main" }, this.head.node, this.notices.node, this.work, this.finish);
    root.replaceChildren(el("div", { class: "columns" }, this.main, side), this.notices.live);
    this.large = el("div", { class: "large-above" });
    this.work.prepend(this.large);
    this.sideNode = side;
  }

  // ---- what the server says

  update(component) {
    this.component = component;
    this.data = component.data;
    this.serial = this.data.serial;
    const refused = this.session.update(this.data);
    for (const c of refused) this.notices.show("conflict", c.text, true);
    this.notices.show("error", this.data.error);
    const back = this.session.asking && this.session.fresh;
    if (back) this.session.asking = false;
    this.forms.setup(this.data);
    if (!this.current?.open || back) this.next();
    else this.ahead();
    this.paintProgress();
    this.root.dataset.waiting = String(this.session.outbox.length);
  }

  // ---- one case after the other

  next() {
    const item = this.session.queue()[0];
    if (item && item === this.current && this.state !== "broken") return this.ahead();
    this.current = item ?? null;
    if (!item) {
      this.rest();
      return;
    }
    this.finish.hidden = true;
    this.work.hidden = this.sideNode.hidden = this.above.node.hidden = this.numbers.node.hidden = false;
    this.show(item);
  }

  /** Nothing is left, or nothing is here yet. */
  rest() {
    this.state = "none";
    delete this.root.dataset.case;
    const over = this.session.fresh && !this.session.outbox.length && !this.data.window.length;
    this.work.hidden = over;
    this.above.clear();
    this.numbers.clear();
    this.cameras.clear();
    this.above.node.hidden = this.numbers.node.hidden = true; // headings above nothing
    this.head.rest(this.data.title, over, this.data.total);
    if (over) {
      this.finish.hidden = !this.data.total;
      this.finish.textContent = this.data.after;
      this.notices.tell(this.head.title.textContent);
      if (this.data.round !== "labelling") this.component.setTriggerValue("over", Date.now());
    }
    this.shelf.keep(new Set(), new Set());
    this.answers.paint(this.state);
  }

  async show(item) {
    const loaded = this.shelf.get(item);
    const mine = (this.showing = {});
    this.state = "loading";
    this.shownAt = performance.now();
    this.readyAt = null;
    delete this.root.dataset.case;
    this.forms.clear();
    this.tidy();
    this.notices.show("failed", "");
    this.paintProgress();
    if (loaded.view) this.describe(loaded.view);
    else {
      this.cameras.clear();
      this.above.clear();
      this.numbers.clear();
      this.head.say("Loading the case …", "");
    }
    this.answers.paint(this.state);
    let failed;
    try {
      failed = await loaded.ready();
    } catch (e) {
      if (this.showing === mine) this.broken(item, loaded, e.message);
      return;
    }
    if (this.showing !== mine) return;
    if (this.described !== loaded.view) this.describe(loaded.view);
    this.cameras.fill(loaded, failed);
    const at = await painted();
    if (this.showing !== mine) return;
    this.readyAt = at;
    this.hidden = { since: document.hidden ? at : 0, ms: 0 };
    this.state = failed.length ? "partial" : "painted";
    this.root.dataset.case = item.id;
    this.root.dataset.painted = String(Math.round(at - this.shownAt));
    if (failed.length) this.failure(item, loaded, failed);
    this.answers.paint(this.state);
    this.notices.tell(`Case ${item.position} of ${this.session.total}. ${loaded.view.question}`);
    this.ahead();
  }

  describe(view) {
    this.described = view;
    this.head.ask(this.data.title, view);
    this.cameras.set(view);
    const bare = !view.cameras.length;
    this.large.hidden = !bare;
    if (bare !== this.bare) (bare ? this.large : this.sideNode).insertBefore(this.above.node, bare ? null : this.numbers.node);
    this.bare = bare;
    this.cameras.grid.hidden = bare;
    this.above.set(view, this.cameras.show, bare);
    this.numbers.set(view, this.cameras.show);
    this.notices.show("bare", bare ? "No camera saw this case: judge it from above and by the speeds." : "");
  }

  redraw() {
    const view = this.shelf.near.get(this.current?.id)?.view;
    if (!view) return;
    this.above.set(view, this.cameras.show, this.bare);
    this.numbers.set(view, this.cameras.show);
  }

  failure(item, loaded, failed) {
    const names = failed.map(([c]) => c.title).join(", ");
    const text = `${names} did not load. Unsure is possible; Y and N wait.`;
    this.notices.show("failed", text, false, el("button", { class: "link", type: "button", onclick: () => this.again(item, loaded) }, "Try again"));
    this.notices.tell(text);
  }

  broken(item, loaded, reason) {
    this.state = "broken";
    say(this.head.title, "This case could not be loaded.");
    this.cameras.clear();
    this.answers.paint(this.state);
    const buttons = [el("button", { class: "link", type: "button", onclick: () => this.again(item, loaded) }, "Try again")];
    if (this.session.queue().length > 1)
      buttons.push(el("button", { class: "link", type: "button", onclick: () => (this.session.skip(item), this.next()) }, "Show the next one first"));
    this.notices.show("failed", `Case ${item.position} did not load: ${reason}. Nothing can be answered yet.`, false, ...buttons);
    this.notices.tell("This case could not be loaded.");
  }

  again(item, loaded) {
    loaded.drop();
    this.show(item);
  }

  /** Fetch what comes next. */
  ahead() {
    if (!this.current || this.state === "loading") return;
    const next = this.session.queue().filter((i) => i.id !== this.current.id);
    this.shelf.prefetch(next.slice(0, 12), this.shelf.near.get(this.current.id));
    this.tidy();
  }

  tidy() {
    const next = this.session.queue().map((i) => i.id);
    const back = this.session.back.slice(-3);
    const hot = new Set([this.current?.id, ...next.filter((id) => id !== this.current?.id).slice(0, 3)]);
    const all = new Set([...hot, ...next.slice(0, 14), ...back]);
    this.shelf.keep(all, new Set([...all].filter((id) => !hot.has(id))));
    this.root.dataset.near = String(this.shelf.near.size);
  }

  // ---- keys and buttons

  click(action) {
    this.act(action, false);
    this.head.focus(); // a button that keeps the focus would be pressed again by Space
  }

  read() {
    this.component.setTriggerValue("guidance", Date.now());
    this.head.focusAfterDialog();
  }

  /** @return whether the key was used */
  act(action, keyboard = true) {
    if (CODES[action]) this.answer(action, keyboard);
    else if (action === "undo") this.undo();
    else if (action === "guidance") this.read();
    else if (action === "expert" || action === "planner") this.cameras.toggleWho(action);
    else if (action === "lens") this.cameras.magnify();
    else if (action === "play") this.cameras.toggle();
    else if (action === "back") this.cameras.nudge(-1, 0) || this.cameras.step(-1);
    else if (action === "forward") this.cameras.nudge(1, 0) || this.cameras.step(1);
    else if (action === "up" || action === "down") return this.cameras.nudge(0, action === "up" ? -1 : 1);
    else if (action === "closer" || action === "wider") {
      if (!this.cameras.lens) return false;
      this.cameras.zoomBy(action === "closer" ? 0.5 : -0.5);
    }
    return true;
  }

  /** Why an answer cannot be taken now, "" if it can. */
  blocked(action) {
    const now = performance.now();
    if (this.state === "none" || this.state === "loading") return "no case was on the screen yet";
    if (this.state === "broken") return "the case could not be loaded";
    if (now - this.readyAt < SEEN) return `the case was on the screen for less than ${SEEN / 1000} s`;
    if (this.state === "partial" && action !== "unsure") return "an image did not load";
    return "";
  }

  answer(action, keyboard) {
    const why = this.blocked(action);
    if (why) {
      this.ignored = { n: this.ignored.n + 1, why };
      this.paintIgnored();
      return;
    }
    const now = performance.now();
    const item = this.current;
    this.forms.save();
    const payload = {
      t_ready_ms: Math.round(this.readyAt - this.shownAt),
      t_key_ms: Math.round(now - this.shownAt),
      hidden_ms: Math.round(this.hidden.ms + (this.hidden.since ? now - this.hidden.since : 0)),
      ...this.cameras.use(),
      keyboard,
      failed_cameras: this.state === "partial" ? this.cameras.panels.filter((p) => p.failed).map((p) => p.camera.name) : [],
    };
    this.cameras.stop();
    this.answers.flash(action);
    this.session.label(item, CODES[action], payload);
    this.session.done += 1;
    this.next();
    this.root.dataset.waiting = String(this.session.outbox.length);
  }

  undo() {
    const asked = this.session.canUndo();
    if (asked && this.current) this.forms.save();
    const item = this.session.undo();
    if (!asked) return this.notices.tell("There is no label to take back.");
    if (item) {
      this.session.done -= 1;
      this.current = item;
      this.finish.hidden = true;
      this.work.hidden = this.sideNode.hidden = this.above.node.hidden = this.numbers.node.hidden = false;
      this.show(item);
      this.notices.tell(`Label of case ${item.position} taken back.`);
    }
    this.paintProgress();
    this.root.dataset.waiting = String(this.session.outbox.length);
  }

  /** A comment or a choice of threats. */
  remark(kind, payload) {
    if (!this.current) return;
    this.session.add(this.current, kind, { payload });
    this.notices.tell(kind === "comment" ? "Comment saved." : "Threats saved.");
    this.paintProgress();
  }

  visibility() {
    const now = performance.now();
    if (document.hidden) this.hidden.since ||= now;
    else if (this.hidden.since) {
      this.hidden.ms += now - this.hidden.since;
      this.hidden.since = 0;
    }
  }

  // ---- what is said

  paintProgress() {
    this.progress.paint(this.session, this.current, this.data.answers);
  }

  paintIgnored() {
    const text = this.progress.paintIgnored(this.ignored);
    this.root.dataset.ignored = String(this.ignored.n);
    clearTimeout(this.saying);
    this.saying = setTimeout(() => this.notices.tell(text), 400);
  }

  drop() {
    this.showing = null;
    clearInterval(this.timer);
    clearTimeout(this.saying);
    document.removeEventListener("visibilitychange", this.onVisible);
    window.removeEventListener("beforeunload", this.onLeave);
    this.keys.drop();
    this.head.drop();
    this.cameras.drop();
    this.above.drop();
    this.numbers.drop();
    this.shelf.drop();
  }
}
