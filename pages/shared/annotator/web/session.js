// What was pressed and is not known to be stored yet, and which case comes next. Every event stays here, and in the browser's own
// storage, until the server says that it is stored; sent twice, it is stored once.

const MOST_BACK = 50;

const newId = () => crypto.randomUUID?.() ?? [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

export class Session {
  /** @param send takes the value of the outbox to the server. */
  constructor(data, send) {
    this.send = send;
    this.tab = newId().slice(0, 8);
    this.prefix = `oddyssey.label.${data.annotator}.${data.set}.${data.round}.`;
    this.items = new Map();
    this.order = [];
    this.front = [];
    this.skipped = new Set();
    this.back = [];
    this.seqs = new Map();
    this.sent = 0;
    this.sentAt = 0;
    this.conflicts = [];
    this.outbox = this.stored();
    this.last = null;
    this.fresh = true;
    this.done = 0;
    this.total = 0;
    this.asking = false;
  }

  /** Events that an earlier page left behind, of this tab or another one: sending them again does no harm. */
  stored() {
    const found = new Map();
    for (const key of this.keys()) {
      try {
        for (const e of JSON.parse(localStorage.getItem(key))) found.set(e.uid, e);
      } catch {
        localStorage.removeItem(key);
      }
    }
    return [...found.values()].sort((a, b) => a.at - b.at);
  }

  keys() {
    try {
      return Object.keys(localStorage).filter((k) => k.startsWith(this.prefix));
    } catch {
      return []; // the browser forbids storage: then the outbox lives as long as the page
    }
  }

  persist(gone = new Set()) {
    try {
      for (const key of this.keys().filter((k) => k !== this.prefix + this.tab)) {
        const left = JSON.parse(localStorage.getItem(key)).filter((e) => !gone.has(e.uid));
        if (left.length) localStorage.setItem(key, JSON.stringify(left));
        else localStorage.removeItem(key);
      }
      if (this.outbox.length) localStorage.setItem(this.prefix + this.tab, JSON.stringify(this.outbox));
      else localStorage.removeItem(this.prefix + this.tab);
    } catch {
      /* full or forbidden: the outbox itself still holds everything */
    }
  }

  add(item, kind, more) {
    const seq = this.seqs.get(item.id) ?? item.seq;
    this.seqs.set(item.id, seq + 1);
    const at = Math.max(Date.now(), (this.outbox.at(-1)?.at ?? 0) + 1); // in order even where the clock is set back
    const event = { uid: newId(), id: item.id, seq, kind, at, ...more };
    this.outbox.push(event);
    this.persist();
    this.flush();
    return event;
  }

  flush() {
    this.sent += 1;
    this.sentAt = performance.now();
    this.fresh = false;
    this.send({ n: `${this.tab}:${this.sent}`, events: this.outbox });
  }

  label(item, label, payload) {
    const event = this.add(item, "label", { label, payload });
    Object.assign(item, { open: false, label, uid: event.uid });
    this.front = this.front.filter((id) => id !== item.id);
    this.skipped.delete(item.id);
    this.back.push(item.id);
    if (this.back.length > MOST_BACK) this.back.shift();
    this.last = { position: item.position, label };
  }

  /** Take the last label back. Gives its item; null where the server has to find it first, or there is none. */
  undo() {
    if (!this.canUndo()) return null;
    const item = this.items.get(this.back.pop());
    if (!item) {
      this.asking = true; // labelled before this page was opened: the server knows which one it was
      this.add({ id: "", seq: 1 }, "undo", { target: "" });
      return null;
    }
    this.add(item, "undo", { target: item.uid });
    Object.assign(item, { open: true, label: null, uid: null });
    this.front.unshift(item.id);
    const before = this.items.get(this.back.at(-1));
    this.last = before ? { position: before.position, label: before.label } : null;
    return item;
  }

  canUndo() {
    return this.back.length > 0 || (this.fresh && this.done > 0 && !this.outbox.length);
  }

  skip(item) {
    this.skipped.add(item.id);
  }

  /** The open cases in the order in which they come. */
  queue() {
    const ids = [...this.front, ...this.order.filter((id) => !this.front.includes(id))];
    const open = ids.map((id) => this.items.get(id)).filter((i) => i?.open);
    return [...open.filter((i) => !this.skipped.has(i.id)), ...open.filter((i) => this.skipped.has(i.id))];
  }

  /** Take over what the server says. Says which events were refused. */
  update(data) {
    this.total = data.total;
    const gone = new Set([...data.acked, ...data.conflicts.map((c) => c.uid)]);
    const refused = data.conflicts.filter((c) => this.outbox.some((e) => e.uid === c.uid));
    this.outbox = this.outbox.filter((e) => !gone.has(e.uid));
    this.persist(gone);
    const waiting = (kind) => this.outbox.filter((e) => e.kind === kind).length;
    this.done = data.done + waiting("label") - waiting("undo");
    // What the server saw before the last press says nothing about that press.
    this.fresh = (this.sent === 0 && !this.outbox.length) || data.seen === `${this.tab}:${this.sent}`;
    for (const one of data.window) {
      const known = this.items.get(one.id);
      if (!known) this.items.set(one.id, { ...one, open: !this.answered(one.id) });
      else if (this.fresh) Object.assign(known, one, { open: !this.answered(one.id) });
      if (this.fresh || !this.seqs.has(one.id)) this.seqs.set(one.id, Math.max(one.seq, this.nextFree(one.id)));
    }
    const ids = data.window.map((w) => w.id);
    if (this.fresh) {
      const there = new Set(ids);
      for (const item of this.items.values()) if (!there.has(item.id)) item.open = false;
      this.front = this.front.filter((id) => there.has(id));
      this.back = this.back.filter((id) => !there.has(id) || this.answered(id));
      this.order = ids;
      if (!waiting("label")) this.last = data.last;
      if (refused.length) this.back = [];
      this.prune();
    } else this.order.push(...ids.filter((id) => !this.order.includes(id)));
    return refused;
  }

  /** The first number that is free for a case, as far as this page knows. */
  nextFree(id) {
    return Math.max(0, ...this.outbox.filter((e) => e.id === id).map((e) => e.seq + 1));
  }

  /** Whether a label of a case is still on its way. */
  answered(id) {
    return this.outbox.findLast((e) => e.id === id && (e.kind === "label" || e.kind === "undo"))?.kind === "label";
  }

  /** Forget cases that cannot come back by a key. */
  prune() {
    const near = new Set([...this.order, ...this.front, ...this.back, ...this.outbox.map((e) => e.id)]);
    for (const id of this.items.keys())
      if (!near.has(id)) {
        this.items.delete(id);
        this.seqs.delete(id);
      }
  }

  /** Send again what has been waiting for too long. */
  retry() {
    if (this.outbox.length && performance.now() - this.sentAt > 4000) this.flush();
  }
}
