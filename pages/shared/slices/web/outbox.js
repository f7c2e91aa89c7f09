// Judgements that are not known to be stored yet. Each stays here, and in the browser's own storage, until the server says that it is
// stored; sent twice, it is stored once.

const newId = () => crypto.randomUUID?.() ?? [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

export class Outbox {
  /** @param set of detections; @param send takes the value of the outbox to the server */
  constructor(set, send) {
    this.send = send;
    this.tab = newId().slice(0, 8);
    this.prefix = `oddyssey.slices.${set}.`;
    this.sent = 0;
    this.sentAt = 0;
    this.events = this.stored();
  }

  /** What an earlier page left behind, of this tab or another one. */
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
      if (this.events.length) localStorage.setItem(this.prefix + this.tab, JSON.stringify(this.events));
      else localStorage.removeItem(this.prefix + this.tab);
    } catch {
      /* full or forbidden: the outbox itself still holds everything */
    }
  }

  /** Keep a judgement and send everything that waits. */
  add(event) {
    const at = Math.max(Date.now(), (this.events.at(-1)?.at ?? 0) + 1); // in order even where the clock is set back
    this.events.push({ uid: newId(), at, ...event });
    this.persist();
    this.flush();
  }

  flush() {
    this.sent += 1;
    this.sentAt = performance.now();
    this.send({ n: `${this.tab}:${this.sent}`, events: this.events });
  }

  /** Take over what the server says; gives what it refused. */
  update({ acked, conflicts }) {
    const refused = conflicts.filter((c) => this.events.some((e) => e.uid === c.uid));
    const gone = new Set([...acked, ...conflicts.map((c) => c.uid)]);
    this.events = this.events.filter((e) => !gone.has(e.uid));
    this.persist(gone);
    return refused;
  }

  /** What waits about a unit: its verdict, "" if it takes one back, undefined if nothing waits. */
  verdict(hypothesis, unit, who) {
    const last = this.events.findLast((e) => e.hypothesis === hypothesis && e.unit === unit && e.who === who);
    return last && (last.verdict === "withdraw" ? "" : last.verdict);
  }

  /** Send again what has been waiting for too long. */
  retry() {
    if (this.events.length && performance.now() - this.sentAt > 4000) this.flush();
  }
}
