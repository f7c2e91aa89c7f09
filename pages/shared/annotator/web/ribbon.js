// The strips of road that the trajectories sweep, drawn into an image. Who is who is told by line style and letter, too.

export const STYLES = {
  expert: { name: "Expert", letter: "E", colour: "#22D3EE", edge: "#04323B", dash: [], side: 0 },
  planner: { name: "Planner", letter: "P", colour: "#FF4D42", edge: "#4A0B07", dash: [3.2, 1.6], side: 1 },
  rated: { name: "Best rated", letter: "R", colour: "#4ADE80", edge: "#06371A", dash: [0.6, 1.5], side: 1 },
  history: { name: "Past path", letter: "", colour: "#D5DBE1", edge: "#30363C", dash: [1.2, 1.2], side: 0 },
};
/** Drawn one over the other in this order: dashes over a solid line, so that paths that coincide are both seen. */
export const ORDER = ["history", "expert", "rated", "planner"];

/**
 * Draw all that is shown into one camera.
 * @param g canvas context, scaled so that its unit is a pixel of the page
 * @param toPage maps a pixel of the image to the page
 */
export function drawRibbons(g, camera, shown, toPage, strength = 1) {
  const there = ORDER.filter((who) => shown[who] && camera.ribbons[who]?.length).map((who) => ({
    style: STYLES[who],
    strip: camera.ribbons[who].map((s) => s && { l: toPage(s[0], s[1]), r: toPage(s[2], s[3]), hidden: s[4] === 1 }),
    marks: camera.seconds[who] ?? [],
  }));
  for (const one of [...there].reverse()) fill(g, one.strip, one.style, strength);
  for (const one of there) edges(g, one.strip, one.style, strength);
  for (const one of there) seconds(g, one.marks, one.style, toPage, strength);
}

function fill(g, strip, style, strength) {
  g.save();
  g.fillStyle = style.colour;
  for (let k = 1; k < strip.length; k++) {
    const [a, b] = [strip[k - 1], strip[k]];
    if (!a || !b) continue;
    g.globalAlpha = (b.hidden ? 0.14 : style === STYLES.rated ? 0.2 : 0.4) * strength;
    g.beginPath();
    g.moveTo(...a.l);
    g.lineTo(...b.l);
    g.lineTo(...b.r);
    g.lineTo(...a.r);
    g.fill();
  }
  g.restore();
}

/** Both edges, light on dark; dotted where something stands in front. */
function edges(g, strip, style, strength) {
  g.save();
  g.lineCap = style.dash.length ? "butt" : "round";
  for (const run of runs(strip)) {
    const wide = Math.max(...run.map((s) => Math.abs(s.l[0] - s.r[0])));
    const line = Math.max(1.1, Math.min(2.6, wide * 0.03));
    const { hidden } = run[0];
    for (const side of ["l", "r"])
      for (const under of [true, false]) {
        g.setLineDash(hidden ? [line * 1.2, line * 2.6] : style.dash.map((d) => d * line * 1.6)); // what lies below shows in the gaps
        g.lineWidth = under ? line * 2.1 : line;
        g.strokeStyle = under ? style.edge : style.colour;
        g.globalAlpha = (under ? (hidden ? 0.25 : 0.7) : hidden ? 0.8 : 1) * strength;
        g.beginPath();
        run.forEach((s, i) => (i ? g.lineTo(...s[side]) : g.moveTo(...s[side])));
        g.stroke();
      }
  }
  g.restore();
}

/** Pieces of a strip without gaps in which everything is hidden, or nothing is. */
function runs(strip) {
  const out = [];
  let run = [];
  const end = () => {
    if (run.length > 1) out.push(run);
    run = [];
  };
  for (const s of strip) {
    if (!s) end();
    else if (run.length && run.at(-1).hidden !== s.hidden) {
      run.push({ ...s, hidden: run.at(-1).hidden });
      end();
      run = [s];
    } else run.push(s);
  }
  end();
  return out;
}

/** A bar across the strip each second, and the letter of who it is at the last one. */
function seconds(g, marks, style, toPage, strength) {
  g.save();
  let last = null;
  for (const [, xl, yl, xr, yr] of marks) {
    const [l, r] = [toPage(xl, yl), toPage(xr, yr)];
    g.globalAlpha = 0.95 * strength;
    g.lineWidth = Math.max(1, Math.min(2.4, Math.abs(l[0] - r[0]) * 0.04));
    g.strokeStyle = "#fff";
    g.beginPath();
    g.moveTo(...l);
    g.lineTo(...r);
    g.stroke();
    last = { l, r };
  }
  if (last && style.letter) {
    const [x, y] = style.side ? last.r : last.l;
    g.font = "650 11px 'Source Sans', 'Source Sans Pro', sans-serif";
    g.textAlign = style.side ? "left" : "right";
    g.textBaseline = "middle";
    g.globalAlpha = strength;
    g.lineWidth = 3;
    g.lineJoin = "round";
    g.strokeStyle = style.edge;
    g.strokeText(style.letter, x + (style.side ? 5 : -5), y);
    g.fillStyle = style.colour;
    g.fillText(style.letter, x + (style.side ? 5 : -5), y);
  }
  g.restore();
}
