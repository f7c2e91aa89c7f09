// The strips of road that the trajectories sweep, drawn into an image. Who is who is told by line style and letter, too.

export const STYLES = {
  expert: { name: "Expert", letter: "E", colour: "#22D3EE", edge: "#04323B", dash: [], side: 0 },
  planner: { name: "Planner", letter: "P", colour: "#FF4D42", edge: "#4A0B07", dash: [3.2, 1.6], side: 1 },
  rated: { name: "Rated 10", letter: "R", colour: "#4ADE80", edge: "#06371A", dash: [0.6, 1.5], side: 1 },
  history: { name: "Past path", letter: "", colour: "#D5DBE1", edge: "#30363C", dash: [1.2, 1.2], side: 0 },
};
/** Drawn one over the other in this order. */
export const ORDER = ["history", "rated", "planner", "expert"];

/**
 * Draw all that is shown into one camera.
 * @param g canvas context, scaled so that its unit is a pixel of the page
 * @param toPage maps a pixel of the image to the page
 */
export function drawRibbons(g, camera, shown, toPage, strength = 1) {
  for (const who of ORDER) {
    if (!shown[who] || !camera.ribbons[who]?.length) continue;
    const strip = camera.ribbons[who].map((s) => s && { l: toPage(s[0], s[1]), r: toPage(s[2], s[3]), hidden: s[4] === 1 });
    ribbon(g, strip, STYLES[who], strength);
    seconds(g, camera.seconds[who] ?? [], STYLES[who], toPage, strength);
  }
}

function ribbon(g, strip, style, strength) {
  g.save();
  g.fillStyle = style.colour;
  for (let k = 1; k < strip.length; k++) {
    const [a, b] = [strip[k - 1], strip[k]];
    if (!a || !b) continue;
    g.globalAlpha = (b.hidden ? 0.14 : 0.42) * strength;
    g.beginPath();
    g.moveTo(...a.l);
    g.lineTo(...b.l);
    g.lineTo(...b.r);
    g.lineTo(...a.r);
    g.fill();
  }
  g.lineCap = style.dash.length ? "butt" : "round";
  g.globalAlpha = strength;
  for (const side of ["l", "r"])
    for (const run of runs(strip)) {
      const wide = Math.max(...run.map((s) => Math.abs(s.l[0] - s.r[0])));
      const line = Math.max(1.1, Math.min(2.6, wide * 0.03));
      for (const [width, colour] of [[line * 2.1, style.edge], [line, style.colour]]) {
        g.setLineDash(run[0].hidden ? [line * 1.2, line * 2.6] : colour === style.edge ? [] : style.dash.map((d) => d * line * 1.6));
        g.lineWidth = width;
        g.strokeStyle = colour;
        if (colour === style.edge) g.globalAlpha = (run[0].hidden ? 0.25 : 0.75) * strength;
        else g.globalAlpha = (run[0].hidden ? 0.8 : 1) * strength;
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
  g.setLineDash([]);
  const far = [];
  for (const [t, xl, yl, xr, yr] of marks) {
    const [l, r] = [toPage(xl, yl), toPage(xr, yr)];
    g.globalAlpha = 0.95 * strength;
    g.lineWidth = Math.max(1, Math.min(2.4, Math.abs(l[0] - r[0]) * 0.04));
    g.strokeStyle = "#fff";
    g.beginPath();
    g.moveTo(...l);
    g.lineTo(...r);
    g.stroke();
    far.push({ t, l, r });
  }
  const last = far.at(-1);
  if (last && style.letter) {
    const [x, y] = style.side ? last.r : last.l;
    g.font = "650 11px 'Source Sans', 'Source Sans Pro', sans-serif";
    g.textAlign = style.side ? "left" : "right";
    g.textBaseline = "middle";
    const text = style.letter;
    g.globalAlpha = strength;
    g.lineWidth = 3;
    g.lineJoin = "round";
    g.strokeStyle = style.edge;
    g.strokeText(text, x + (style.side ? 5 : -5), y);
    g.fillStyle = style.colour;
    g.fillText(text, x + (style.side ? 5 : -5), y);
  }
  g.restore();
}
