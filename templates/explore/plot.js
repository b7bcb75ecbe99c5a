/* The plot: drawn anew at the width it has, so that its text keeps its size on a phone. */
const LANE = 30, STRIP = 34, CELL = 17, REACH = 13, MARGIN = 14;
let dots = new Map(); /* what was drawn, by number of the candidate */

function draw_plot() {
  const canvas = at("canvas"), focused = canvas.contains(document.activeElement)
    && document.activeElement.dataset.number;
  const box = layout(at("plot").clientWidth), view = place_dots(box);
  canvas.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
  canvas.setAttribute("width", box.width);
  canvas.setAttribute("height", box.height);
  const under = [hatch(), ...bands(box), ...axis_lines(box, view), ...walls(box, view), ...fronts(view),
    ...references(box, view)];
  canvas.replaceChildren(...under, draw("g", { role: "group", "aria-label": "Candidates" }, ...view.dots.map(draw_dot)),
    draw("g", { "aria-hidden": "true" }, ...names(box, view)));
  dots = new Map(view.dots.map((dot) => [dot.one.number, dot]));
  hide_tip();
  if (focused && node_of(focused)) node_of(focused).focus();
}
const node_of = (number) => at("canvas").querySelector(`[data-number="${number}"]`);

/* Where everything goes. Lanes at the good end hold "none", strips at the bad end what was not measured. */
function layout(width) {
  const narrow = width < 560, { axis, log } = state.y, flip = Boolean(axis.flip), shown = visible();
  const cost = (one) => one.figures[state.x.axis.key], loss = (one) => axis.loss(one), lanes = [];
  const none = log ? shown.filter((one) => loss(one) && loss(one).value <= 0) : [];
  const proven = (one) => axis.key === "disagreement" && one.proven;
  if (none.some(proven)) lanes.push("none, proven");
  if (!none.every(proven)) lanes.push("none, seen");
  const unknown = shown.filter((one) => !loss(one) && !is_set(cost(one))).length; /* a corner full of them */
  const columns = Math.min(unknown, narrow ? 3 : 6), rows = Math.ceil(unknown / (columns || 1));
  const strip = shown.every(loss) ? 0 : Math.max(STRIP, rows * CELL + MARGIN);
  const column = shown.every((one) => is_set(cost(one))) ? 0 : Math.max(44, columns * CELL + MARGIN);
  const height = Math.round(Math.min(600, Math.max(380, width * 0.62))) + strip, band = lanes.length * LANE;
  const end = width - MARGIN, top = MARGIN, bottom = height - 46;
  return { width, height, narrow, flip, lanes, strip, column, columns, top, bottom, end, left: narrow ? 50 : 66,
    right: end - column, strip_top: flip ? bottom - strip : top,
    good: flip ? top + band : bottom - band, bad: flip ? bottom - strip : top + strip };
}

function place_dots(box) {
  const { axis } = state.y, { key, format } = state.x.axis, shown = visible();
  const losses = shown.map((one) => axis.loss(one)).filter(Boolean),
    costs = shown.map((one) => one.figures[key]).filter(is_set);
  const heights = losses.flatMap((loss) => [loss.value, loss.high, axis.flip ? loss.low : loss.value]);
  const x = make_scale(state.x.log, costs, box.left + 10, box.right - 12,
    { format, base: format === bytes ? 2 : 10, room: 62 });
  const y = make_scale(state.y.log, heights, box.good, box.bad, { format: axis.format, zero: !axis.flip, room: 34 });
  let corner = 0;
  const found = shown.map((one) => {
    const loss = axis.loss(one), cost = one.figures[key], known = is_set(cost), lane = lane_of(box, one, loss);
    if (!loss && !known) {
      const left = box.right + 15 + CELL * (corner % box.columns), down = Math.floor(corner++ / box.columns);
      return { one, loss, lane, x: left, y: box.strip_top + 15 + CELL * down };
    }
    const height = !loss ? box.strip_top + box.strip / 2 : lane < 0 ? y.place(loss.value) : lane_middle(box, lane);
    const left = known ? x.place(cost) : box.right + box.column / 2;
    return { one, loss, lane, x: left, y: height, known: known && loss, place: y.place };
  });
  const weight = ({ one }) => 8 * (state.choice.winner === one) + 4 * (state.pinned === one.number)
    + 2 * (one.state === "measured") - one.dominated; /* what matters comes on top */
  return { x, y, dots: spread(found).sort((a, b) => weight(a) - weight(b) || a.x - b.x) };
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
    const hidden = (shift) => taken.some((other) => Math.hypot(dot.x - other.x, dot.y + shift - other.y) < 11);
    dot.y += [0, -8, 8].find((shift) => !hidden(shift)) || 0;
    taken.push(dot);
  }
  return all;
}

const label = (kind, x, y, anchor, text) => draw("text", { class: kind, x, y, "text-anchor": anchor }, text);
const area = (kind, x, y, width, height) => draw("rect", { class: kind, x, y, width, height });

function hatch() {
  const pattern = { id: "hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  return draw("defs", {}, draw("pattern", pattern, draw("line", { class: "hatch", y2: 7 })));
}
function bands(box) {
  const found = box.lanes.flatMap((name, lane) => {
    const middle = lane_middle(box, lane), words = name.split(", ");
    return [area("lane lane-" + lane, box.left, middle - LANE / 2, box.end - box.left, LANE),
      ...words.map((word, line) => label("lane-name", box.left - 8, middle - 2 + 12 * line, "end", word))];
  });
  if (box.strip) found.push(area("strip", box.left, box.strip_top, box.end - box.left, box.strip),
    label("lane-name", box.left + 8, box.strip_top + 15, "start", "not measured"));
  if (box.column) found.push(area("strip", box.right, box.top, box.column, box.bottom - box.top),
    label("lane-name", box.right + box.column / 2, box.bottom + 18, "middle", "unknown"));
  return found;
}
function axis_lines(box, view) {
  const across = (tick) => draw("g", { class: "tick" },
    draw("line", { x1: tick.at, x2: tick.at, y1: box.top, y2: box.bottom }),
    label("", tick.at, box.bottom + 18, "middle", tick.text));
  const up = (tick) => draw("g", { class: "tick" },
    draw("line", { x1: box.left, x2: box.end, y1: tick.at, y2: tick.at }),
    label("", box.left - 8, tick.at + 4, "end", tick.text));
  const y_name = label("axis-name", 0, 0, "middle", state.y.axis.name + " \u2192");
  y_name.setAttribute("transform", `translate(${box.narrow ? 9 : 13} ${(box.top + box.bottom) / 2}) rotate(-90)`);
  const room = box.right - (box.column ? 32 : 0); /* for the word below the column */
  return [...view.x.ticks.filter((tick) => tick.at <= room).map(across), ...view.y.ticks.map(up), y_name,
    draw("path", { class: "axis", d: `M${box.left} ${box.top}V${box.bottom}H${box.end}` }),
    label("axis-name", (box.left + box.right) / 2, box.height - 6, "middle", state.x.axis.name + " \u2192")];
}

/* Limits as walls: what stands behind one costs too much, or changes too many labels. */
function walls(box, view) {
  const { limits } = state, top = box.flip ? box.top : box.bad, bottom = box.flip ? box.bad : box.bottom, found = [];
  for (const [name, key] of Object.entries(UPPER_LIMITS)) {
    if (key !== state.x.axis.key || !is_set(limits[name])) continue;
    const edge = view.x.place(limits[name]);
    found.push(area("wall", edge, top, Math.max(0, box.right - edge), bottom - top));
  }
  const loss = allowed_loss(limits);
  if (loss !== null) {
    const edge = loss > 0 || !state.y.log ? view.y.place(loss) : lane_middle(box, 0) + (box.flip ? LANE : -LANE) / 2;
    found.push(area("wall", box.left, box.flip ? edge : top, box.right - box.left,
      box.flip ? bottom - edge : edge - top));
  }
  return found;
}
function allowed_loss(limits) {
  const { key } = state.y.axis, base = record.models.length === 1 ? record.models[0].accuracy : null;
  if (key === "disagreement" && limits.same_labels) return 0;
  if (key === "disagreement" && is_set(limits.agreement)) return 1 - limits.agreement;
  return key === "accuracy" && is_set(limits.accuracy_loss) && is_set(base) ? 1 - base + limits.accuracy_loss : null;
}
function references(box, view) {
  if (state.y.axis.key !== "accuracy") return [];
  const several = record.models.length > 1, known = (model) => is_set(model.accuracy)
    && !state.hidden.model.has(model.name);
  return record.models.filter(known).map((model) => {
    const y = view.y.place(1 - model.accuracy), name = "the SVM" + (several ? " " + short(model.name, 20) : "");
    return draw("g", { class: "reference" }, draw("line", { x1: box.left, x2: box.right, y1: y, y2: y }),
      label("", box.right - 4, y - 5, "end", name + ", " + percent(model.accuracy)));
  });
}

/* Nothing shown is cheaper and better than a dot of the front. Proven is better than merely unseen. */
function front_of(view, model) {
  const rank = ({ one, loss }) => (one.proven && state.y.axis.key === "disagreement" ? -1 : loss.value);
  const cost = ({ one }) => one.figures[state.x.axis.key], front = [];
  const known = view.dots.filter((dot) => dot.known && dot.one.state === "measured" && dot.one.model === model);
  for (const dot of known.sort((a, b) => cost(a) - cost(b) || rank(a) - rank(b)))
    if (!front.length || rank(dot) < rank(front[front.length - 1])) front.push(dot);
  return front;
}
function fronts(view) {
  state.front = new Set();
  return record.models.map((model, index) => {
    const front = front_of(view, model.name), [first, ...rest] = front;
    front.forEach((dot) => state.front.add(dot.one.number));
    const path = first ? `M${first.x} ${first.y}` + rest.map((dot) => `H${dot.x}V${dot.y}`).join("") : "";
    return draw("path", { class: "front model-" + (index % 3), d: path });
  });
}

function draw_dot(dot) {
  const { one } = dot, { winner, failed, unmet } = state.choice, pinned = state.pinned === one.number;
  const measured = one.state === "measured", misses = (unmet.get(one.number) || []).length || failed.has(one.number);
  const kind = classes({ dot: true, ["hue-" + hue(one.method)]: true, [one.state]: true,
    hollow: one.dominated || !measured,
    grey: measured && misses, winner: winner === one });
  const other = record.models.findIndex((model) => model.name === one.model) > 0;
  return draw("g", { class: kind, transform: `translate(${dot.x.toFixed(1)} ${dot.y.toFixed(1)})`,
    "data-number": one.number,
    role: "button", tabindex: state.front.has(one.number) || pinned || winner === one ? 0 : -1,
    "aria-pressed": String(pinned), "aria-label": describe(one),
    onkeydown: (event) => dot_key(event, one.number), onfocus: () => show_tip(one.number), onblur: hide_tip },
    whisker(dot), draw("circle", { class: "reach", r: REACH }),
      other && draw("circle", { class: "other-model", r: 10.5 }),
    winner === one && draw("circle", { class: "halo", r: 14 }), pinned && draw("circle", { class: "pin", r: 11.5 }),
    ...glyph(one.method, one.precision));
}
function whisker({ one, loss, known, place, y }) {
  if (!known || one.proven || !(loss.high > loss.low)) return null;
  const low = state.y.log && loss.low <= 0 ? 0 : place(loss.low) - y;
  return draw("path", { class: "whisker", d: `M0 ${low.toFixed(1)}V${(place(loss.high) - y).toFixed(1)}` });
}

