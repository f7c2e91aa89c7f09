// What a case needs from the server: its view as JSON, and its images as decoded bitmaps. Nothing is kept longer than it is near.

import { wait } from "./dom.js";

const TRIES = [0, 400, 1500];
/** Frames of the previous second wider than this are kept smaller: thirty of them lie in memory at once. */
const HISTORY_WIDTH = 960;

async function fetched(url) {
  if (!url) throw new Error("the file is missing in the case set");
  let reason = "";
  for (const pause of TRIES) {
    if (pause) await wait(pause);
    try {
      const answer = await fetch(url);
      if (answer.ok) return answer;
      reason = `the server answered ${answer.status}`;
    } catch (e) {
      reason = "the server did not answer";
    }
  }
  throw new Error(reason);
}

/** One image: its bytes once, its bitmap while it is needed. */
class Picture {
  constructor(url) {
    this.url = url;
    this.blob = null;
    this.bitmap = null;
    this.wanted = null;
  }

  /** The bytes, fetched once; a failure is not remembered. */
  bytes() {
    if (!this.blob) {
      this.blob = fetched(this.url).then((a) => a.blob());
      this.blob.catch(() => (this.blob = null));
    }
    return this.blob;
  }

  /** The decoded bitmap. */
  decoded(width = 0) {
    if (!this.wanted) {
      this.wanted = this.bytes().then((blob) =>
        createImageBitmap(blob).then(
          (b) => (width && b.width > width ? smaller(b, width) : b),
          () => Promise.reject(new Error("the file is no image that can be read")),
        ),
      );
      const mine = this.wanted;
      mine.then(
        (b) => (this.wanted === mine ? (this.bitmap = b) : b.close()),
        () => this.wanted === mine && (this.wanted = null),
      );
    }
    return this.wanted;
  }

  release() {
    this.bitmap?.close();
    this.bitmap = this.wanted = null;
  }
}

async function smaller(bitmap, width) {
  const out = await createImageBitmap(bitmap, { resizeWidth: width, resizeHeight: Math.round((bitmap.height * width) / bitmap.width), resizeQuality: "high" });
  bitmap.close();
  return out;
}

/** A case on its way to the screen. */
export class Loaded {
  constructor(item, base) {
    this.item = item;
    this.base = base;
    this.pictures = new Map();
    this.view = null;
    this.asked = null;
  }

  ask() {
    if (!this.asked) {
      this.asked = fetched(this.base + this.item.url)
        .then((a) => a.json())
        .then((view) => (this.view = { ...view, cameras: view.cameras.filter((c) => c.frames.length) }));
      this.asked.catch(() => (this.asked = null));
    }
    return this.asked;
  }

  picture(frame) {
    if (!this.pictures.has(frame.url)) this.pictures.set(frame.url, new Picture(frame.url ? this.base + frame.url : ""));
    return this.pictures.get(frame.url);
  }

  critical() {
    return this.view.cameras.map((c) => c.frames[c.frames.length - 1]);
  }

  /** Fetch view and critical images, and decode them. Resolves to the failures: [[camera, reason], …]; rejects without a view. */
  async ready() {
    await this.ask();
    const failed = [];
    await Promise.all(
      this.view.cameras.map((c, i) => this.picture(this.critical()[i]).decoded().catch((e) => failed.push([c, e.message]))),
    );
    return failed;
  }

  /** Fetch view and critical images without decoding them. */
  async ahead() {
    await this.ask();
    await Promise.all(this.critical().map((f) => this.picture(f).bytes().catch(() => {})));
  }

  /** Fetch and decode the previous second; failures only leave gaps in the playback. */
  async previous() {
    for (const c of this.view.cameras)
      await Promise.all(c.frames.slice(0, -1).map((f) => this.picture(f).decoded(HISTORY_WIDTH).catch(() => {})));
  }

  release() {
    for (const p of this.pictures.values()) p.release();
  }

  /** Give up bitmaps and bytes. */
  drop() {
    this.release();
    this.pictures.clear();
  }
}

/** The cases that are near: the one on the screen, the next ones, and the last ones for undo. */
export class Shelf {
  constructor(base) {
    this.base = base;
    this.near = new Map();
  }

  get(item) {
    let found = this.near.get(item.id);
    if (!found || found.item.url !== item.url) {
      found?.drop();
      this.near.set(item.id, (found = new Loaded(item, this.base)));
    }
    return found;
  }

  /** Fetch what comes next: the first ones decoded, the rest as bytes, one case after the other. */
  async prefetch(items, current) {
    const turn = (this.turn = {});
    for (const [i, item] of items.entries()) {
      if (this.turn !== turn) return;
      const next = this.get(item);
      await (i < 3 ? next.ready() : next.ahead()).catch(() => {});
      if (i === 0 && current && this.turn === turn) await current.previous().catch(() => {});
    }
    if (!items.length && current) await current.previous().catch(() => {});
  }

  /** Keep these cases and give up all others; of those in `cold` only the bytes stay. */
  keep(ids, cold) {
    for (const [id, loaded] of this.near) {
      if (!ids.has(id)) {
        loaded.drop();
        this.near.delete(id);
      } else if (cold.has(id)) loaded.release();
    }
  }

  drop() {
    this.turn = null;
    this.keep(new Set(), new Set());
  }
}
