/* The plot: drawn anew at the width it has, so that its text keeps its size on a phone. */
const LANE = 30, STRIP = 34, REACH = 13;
let dots = new Map(); /* what was drawn, by number of the candidate */

function draw_plot() {
  const canvas = at("canvas"), focus = canvas.contains(document.activeElement) && document.activeElement.dataset.number;
  const box = layout(at("plot").clientWidth), view = place_dots(box);
  canvas.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
  canvas.setAttribute("width", box.width);
  canvas.setAttribute("height", box.height);
  canvas.replaceChildren(hatch(), ...bands(box, view), ...axis_lines(box, view), ...walls(box, view), ...fronts(box, view),
    ...reference_lines(box, view), draw("g", { role: "group", "aria-label": "Candidates" }, ...view.dots.map(draw_dot)),
    draw("g", { class: "names", "aria-hidden": "true" }, ...names(box, view)));
  dots = new Map(view.dots.map((dot) => [String(dot.one.number), dot]));
  if (focus && dots.has(focus)) node_of(focus).focus();
}
const node_of = (number) => at("canvas").querySelector(`[data-number="${number}"]`);

/* Where everything goes. Bands at the good end hold "none", strips at the bad end what was not measured. */
function layout(width) {
  const narrow = width < 560, axis = state.y.axis, shown = visible();
  const losses = shown.map((one) => axis.loss(one)), costs = shown.map((one) => one.figures[state.x.axis.key]);
  const lanes = [];
  if (state.y.log && axis.key === "disagreement" && shown.some((one) => one.proven)) lanes.push("none, proven");
  if (state.y.log && losses.some((loss, i) => loss && loss.value <= 0 && !(lanes.length && shown[i].proven))) lanes.push("none, seen");
  const unknown = shown.filter((_, i) => !losses[i] && !is_set(costs[i])).length;
  const columns = Math.min(unknown, narrow ? 3 : 6), rows = columns ? Math.ceil(unknown / columns) : 1;
  const strip = losses.some((loss) => !loss) ? Math.max(STRIP, rows * 17 + 14) : 0;
  const column = costs.some((cost) => !is_set(cost)) ? Math.max(44, columns * 17 + 14) : 0;
  const height = Math.round(Math.min(600, Math.max(380, width * 0.62))) + strip;
  const left = narrow ? 50 : 66, right = width - 14 - column, top = 14, bottom = height - 46, band = lanes.length * LANE;
  const flip = Boolean(axis.flip);
  return { width, height, left, right, top, bottom, narrow, lanes, strip, column, columns, band, flip,
    good: flip ? top + band : bottom - band, bad: flip ? bottom - strip : top + strip };
}

function place_dots(box) {
  const shown = visible(), x_key = state.x.axis.key, format = state.x.axis.format, axis = state.y.axis;
  const losses = new Map(shown.map((one) => [one, axis.loss(one)]));
  const x = make_scale(state.x.log, [...shown.map((one) => one.figures[x_key]).filter(is_set)], box.left + 10, box.right - 12,
    { format, base: format === bytes ? 2 : 10, room: 62 });
  const heights = [...losses.values()].filter(Boolean).flatMap((loss) => [loss.value, loss.high, axis.flip ? loss.low : loss.value]);
  const y = make_scale(state.y.log, heights, box.good, box.bad, { format: axis.format, zero: !axis.flip, room: 34 });
  let corner = 0;
  const found = shown.map((one) => {
    const loss = losses.get(one), cost = one.figures[x_key], known = is_set(cost), lane = lane_of(box, one, loss);
    const dot = { one, loss, lane, x: known ? x.place(cost) : box.right + box.column / 2, y: 0, known: known && Boolean(loss), place: y.place };
    if (!loss) dot.y = box.flip ? box.bottom - box.strip / 2 : box.top + box.strip / 2;
    else dot.y = lane < 0 ? y.place(loss.value) : lane_middle(box, lane);
    if (!loss && !known) {
      dot.x = box.right + 15 + 17 * (corner % box.columns);
      dot.y = (box.flip ? box.bottom - box.strip : box.top) + 15 + 17 * Math.floor(corner++ / box.columns);
    }
    return dot;
  });
  const weight = ({ one }) => (state.choice.winner === one ? 4 : state.pinned === one.number ? 3 : one.state === "measured" ? 2 - one.dominated : 0);
  return { x, y, dots: spread(found).sort((a, b) => weight(a) - weight(b) || a.x - b.x) }; /* what matters on top */
}
function lane_of(box, one, loss) {
  if (!loss || !state.y.log || loss.value > 0) return -1;
  return one.proven && box.lanes[0] === "none, proven" ? 0 : box.lanes.indexOf("none, seen");
}
const lane_middle = (box, lane) => (box.flip ? box.top + (lane + 0.5) * LANE : box.bottom - (lane + 0.5) * LANE);

/* In a lane many dots share one height: those that would hide each other step aside. */
function spread(all) {
  const taken = [];
  for (const dot of all.filter((one) => one.lane >= 0).sort((a, b) => a.x - b.x)) {
    const step = [0, -8, 8].find((shift) => !taken.some((other) => Math.hypot(dot.x - other.x, dot.y + shift - other.y) < 11));
    dot.y += step || 0;
    taken.push(dot);
  }
  return all;
}

function hatch() {
  return draw("defs", {}, draw("pattern", { id: "hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    draw("line", { class: "hatch", y2: 7 })));
}

function bands(box) {
  const found = box.lanes.map((name, lane) => {
    const top = lane_middle(box, lane) - LANE / 2;
    return draw("g", {}, draw("rect", { class: "lane lane-" + lane, x: box.left, y: top, width: box.width - 14 - box.left, height: LANE }),
      ...name.split(", ").map((word, line, all) => draw("text", { class: "lane-name", x: box.left - 8, y: top + LANE / 2 + 10 - 6 * all.length + 12 * line, "text-anchor": "end", text: word })));
  });
  const strip_top = box.flip ? box.bottom - box.strip : box.top;
  if (box.strip) found.push(draw("rect", { class: "strip", x: box.left, y: strip_top, width: box.width - 14 - box.left, height: box.strip }),
    draw("text", { class: "lane-name", x: box.left + 8, y: strip_top + 15, text: "not measured" }));
  if (box.column) found.push(draw("rect", { class: "strip", x: box.right, y: box.top, width: box.column, height: box.bottom - box.top }),
    draw("text", { class: "lane-name", x: box.right + box.column / 2, y: box.bottom + 18, "text-anchor": "middle", text: "unknown" }));
  return found;
}

function axis_lines(box, view) {
  const x_name = state.x.axis.name, y_name = state.y.axis.title;
  return [
    ...view.x.ticks.filter((tick) => !box.column || tick.at < box.right - 32).map((tick) => draw("g", { class: "tick" }, draw("line", { x1: tick.at, x2: tick.at, y1: box.top, y2: box.bottom }),
      draw("text", { x: tick.at, y: box.bottom + 18, "text-anchor": "middle", text: tick.text }))),
    ...view.y.ticks.map((tick) => draw("g", { class: "tick" }, draw("line", { x1: box.left, x2: box.width - 14, y1: tick.at, y2: tick.at }),
      draw("text", { x: box.left - 8, y: tick.at + 4, "text-anchor": "end", text: tick.text }))),
    draw("path", { class: "axis", d: `M${box.left} ${box.top}V${box.bottom}H${box.width - 14}` }),
    draw("text", { class: "axis-name", x: (box.left + box.right) / 2, y: box.height - 6, "text-anchor": "middle", text: x_name + " \u2192" }),
    draw("text", { class: "axis-name", transform: `translate(${box.narrow ? 9 : 13} ${(box.top + box.bottom) / 2}) rotate(-90)`, "text-anchor": "middle", text: y_name + " \u2192" }),
  ];
}

/* Limits as walls: what stands behind one costs too much, or changes too many labels. */
function walls(box, view) {
  const found = [], limits = state.limits, top = box.flip ? box.top : box.bad, bottom = box.flip ? box.bad : box.bottom;
  const wall = (x, y, width, height) => width > 0 && height > 0 && found.push(draw("rect", { class: "wall", x, y, width, height, fill: "url(#hatch)" }));
  for (const [name, key] of Object.entries(UPPER_LIMITS))
    if (key === state.x.axis.key && is_set(limits[name])) {
      const edge = view.x.place(limits[name]);
      wall(edge, top, box.right - edge, bottom - top);
    }
  const loss = allowed_loss(limits);
  if (loss !== null) {
    const edge = loss > 0 || !state.y.log ? view.y.place(loss) : lane_middle(box, 0) + (box.flip ? LANE : -LANE) / 2;
    if (box.flip) wall(box.left, edge, box.right - box.left, bottom - edge);
    else wall(box.left, top, box.right - box.left, edge - top);
  }
  return found;
}
function allowed_loss(limits) {
  if (state.y.axis.key === "disagreement") {
    if (limits.same_labels) return 0;
    return is_set(limits.agreement) ? 1 - limits.agreement : null;
  }
  const base = record.models.length === 1 ? record.models[0].accuracy : null;
  return state.y.axis.key === "accuracy" && is_set(limits.accuracy_loss) && is_set(base) ? 1 - base + limits.accuracy_loss : null;
}

function reference_lines(box, view) {
  if (state.y.axis.key !== "accuracy") return [];
  return record.models.filter((model) => is_set(model.accuracy) && !state.hidden.model.has(model.name)).map((model) => {
    const y = view.y.place(1 - model.accuracy);
    return draw("g", { class: "reference" }, draw("line", { x1: box.left, x2: box.right, y1: y, y2: y }),
      draw("text", { x: box.right - 4, y: y - 5, "text-anchor": "end", text: "the SVM" + (record.models.length > 1 ? " " + short(model.name, 20) : "") + ", " + percent(model.accuracy) }));
  });
}

/* Nothing shown is cheaper and better than a dot of the front. Proven is better than merely unseen. */
function front_of(view, model) {
  const rank = (dot) => (dot.one.proven && state.y.axis.key === "disagreement" ? -1 : dot.loss.value);
  const key = state.x.axis.key, known = view.dots.filter((dot) => dot.known && dot.one.state === "measured" && dot.one.model === model);
  known.sort((a, b) => a.one.figures[key] - b.one.figures[key] || rank(a) - rank(b));
  let best = Infinity;
  return known.filter((dot) => rank(dot) < best && ((best = rank(dot)), true));
}
function fronts(box, view) {
  view.front = new Set();
  return record.models.map((model, index) => {
    const front = front_of(view, model.name);
    front.forEach((dot) => view.front.add(dot.one.number));
    const path = front.map((dot, i) => (i ? `H${dot.x.toFixed(1)}V${dot.y.toFixed(1)}` : `M${dot.x.toFixed(1)} ${dot.y.toFixed(1)}`)).join("");
    state.front = view.front;
    return path && draw("path", { class: "front model-" + (index % 3), d: path });
  }).filter(Boolean);
}

function draw_dot(dot) {
  const { one, loss } = dot, unmet = state.choice.unmet.get(one.number) || [];
  const marks = ["dot", "hue-" + hue(one.method), one.state];
  if (one.dominated || one.state !== "measured") marks.push("hollow");
  if (one.state === "measured" && (unmet.length || state.choice.failed.has(one.number))) marks.push("grey");
  if (state.choice.winner === one) marks.push("winner");
  const pinned = state.pinned === one.number, order = record.models.findIndex((model) => model.name === one.model);
  const on_front = state.front.has(one.number) || pinned || state.choice.winner === one;
  return draw("g", { class: marks.join(" "), transform: `translate(${dot.x.toFixed(1)} ${dot.y.toFixed(1)})`, "data-number": one.number,
    role: "button", tabindex: on_front ? 0 : -1, "aria-pressed": String(pinned), "aria-label": describe(one),
    onkeydown: (event) => dot_key(event, one.number), onfocus: () => show_tip(one.number), onblur: hide_tip },
    loss && whisker(dot), draw("circle", { class: "reach", r: REACH }),
    order > 0 && draw("circle", { class: "other-model", r: 10.5 }),
    state.choice.winner === one && draw("circle", { class: "halo", r: 14 }),
    pinned && draw("circle", { class: "pin", r: 11.5 }), ...glyph(one.method, one.precision));
}
function whisker(dot) {
  if (!dot.known || dot.one.proven || !(dot.loss.high > dot.loss.low)) return null;
  const low = state.y.log && dot.loss.low <= 0 ? 0 : dot.place(dot.loss.low) - dot.y;
  return draw("path", { class: "whisker", d: `M0 ${low.toFixed(1)}V${(dot.place(dot.loss.high) - dot.y).toFixed(1)}` });
}

