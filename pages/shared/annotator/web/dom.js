// Small pieces of the page. Texts go in as text, never as markup: what a case says is data of somebody else.

const SVG = "http://www.w3.org/2000/svg";

/** An element: el("button", {class: "x", onclick: f}, "text", child, …). */
export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node[key] = value;
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.filter((c) => c !== null && c !== undefined && c !== ""));
  return node;
}

/** The text of a node, changed only where it is another one, so that readers of screens stay calm. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Resolves when the next two frames were drawn: what was put on the page before is then in front of the person. */
export function painted() {
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))));
}

export const wait = (ms) => new Promise((done) => setTimeout(done, ms));
