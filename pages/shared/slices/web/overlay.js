// Boxes over a picture: lines in SVG, in px of the image, and letters beside them, so that colour alone tells nothing.

import { el, svg } from "../oddyssey.annotator/dom.js";

/** @param rect part of the image that is shown: left, top, right, bottom; @param boxes [{box, look, letter, label}] */
export function overlay(rect, boxes) {
  const [x0, y0, x1, y1] = rect, w = x1 - x0, h = y1 - y0;
  const image = svg("svg", { viewBox: `${x0} ${y0} ${w} ${h}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const badges = [];
  for (const b of boxes) {
    const [l, t, r, m] = b.box, at = { x: l, y: t, width: Math.max(r - l, 0.5), height: Math.max(m - t, 0.5) };
    if (!b.look.includes("thin")) image.append(svg("rect", { ...at, class: "halo" }));
    image.append(svg("rect", { ...at, class: `box ${b.look}` }));
    if (!b.letter && !b.label) continue;
    const left = Math.min(Math.max((l - x0) / w, 0), 0.94) * 100, top = Math.min(Math.max((t - y0) / h, 0), 1) * 100;
    const badge = el("span", { class: `badge ${b.look}${top < 12 ? " below" : ""}`, "aria-hidden": "true" }, b.letter || "", b.label ? el("i", {}, b.label) : "");
    badge.style.left = `${left}%`;
    badge.style.top = top < 12 ? `${Math.min(((Math.max(m, y0) - y0) / h) * 100, 88)}%` : `${top}%`;
    badges.push(badge);
  }
  return [image, ...badges];
}

/** Whether two boxes share anything. */
export function meets(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}

/** Gap between two boxes, px; 0 where they meet. */
export function gap(a, b) {
  const dx = Math.max(a[0] - b[2], b[0] - a[2], 0), dy = Math.max(a[1] - b[3], b[1] - a[3], 0);
  return Math.hypot(dx, dy);
}
