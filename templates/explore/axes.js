/* What the axes show. On the y axis every value is a loss: 0 is best, whatever the axis is called. */
const Y_AXES = [
  { key: "disagreement", name: outcomes() + " that change", title: "share of " + outcomes() + " that change", format: small,
    loss(one) {
      if (one.proven) return { value: 0, low: 0, high: 0 };
      const report = one.agreement && one.agreement.report;
      return report ? { value: 1 - report.share, low: 1 - report.high, high: 1 - report.low[0] } : null;
    } },
  { key: "accuracy", name: "accuracy", title: "accuracy", flip: true, format: (loss) => percent(1 - loss),
    loss(one) {
      const found = one.accuracy, bound = (end) => (is_set(found[end]) ? 1 - found[end] : 1 - found.share);
      return found ? { value: 1 - found.share, low: bound("high"), high: bound("low") } : null;
    } },
  { key: "error", name: "worst decision error", title: "worst decision error", format: (loss) => digits(loss),
    loss(one) {
      const value = one.max_decision_error;
      return is_set(value) ? { value, low: value, high: value } : null;
    } },
].filter((axis) => candidates.some((one) => axis.loss(one)));

/* Values to pixels. `from` is where the least value stands; values outside are put on the edge. */
function make_scale(log, values, from, to, { zero = true, base = 10, format, room }) {
  const usable = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  let low = usable.length ? Math.min(...usable) : 0.01, high = usable.length ? Math.max(...usable) : 1;
  if (log) {
    const widen = Math.max(1.35, Math.sqrt((4 * low) / high));
    [low, high] = [low / widen, high * widen];
  } else {
    const pad = 0.08 * (high - low || high || 1);
    [low, high] = [zero ? 0 : low - pad, high + pad];
  }
  const turn = log ? Math.log : (value) => value, first = turn(low), span = turn(high) - first;
  const place = (value) => {
    const inside = Math.min(high, Math.max(low, value));
    return from + ((to - from) * (turn(inside) - first)) / span;
  };
  const marks = log && high / low > 6 ? log_ticks(low, high, base) : linear_ticks(low, high, base);
  const most = Math.max(2, Math.floor(Math.abs(to - from) / room)), every = Math.ceil(marks.length / most);
  const ticks = marks.filter((_, index) => index % every === 0);
  return { place, ticks: ticks.map((value) => ({ value, at: place(value), text: format(value) })) };
}

function log_ticks(low, high, base) {
  const span = Math.log(high / low) / Math.log(base);
  const steps = base === 10 ? (span > 3 ? [1] : span > 1.7 ? [1, 3] : [1, 2, 5]) : [1];
  const found = [];
  for (let power = Math.floor(Math.log(low) / Math.log(base)); base ** power <= high; power++)
    for (const step of steps) {
      const value = step * base ** power;
      if (value >= low && value <= high) found.push(Number(value.toPrecision(12)));
    }
  return found;
}

function linear_ticks(low, high, base) {
  const rough = (high - low) / 6, power = base ** Math.floor(Math.log(rough) / Math.log(base));
  const step = (base === 10 ? [1, 2, 5, 10] : [1, 2]).map((count) => count * power).find((one) => one >= rough) || power;
  const found = [];
  for (let index = Math.ceil(low / step); index * step <= high; index++) found.push(Number((index * step).toPrecision(12)));
  return found;
}

/* Shapes tell methods apart without colour; the mark inside tells the precision. */
const METHODS = ["exact", "certified", "anytime", "reduced-set", "metric-tree", "h1-tree", "dtsvm", "sv-tree"];
for (const one of candidates) if (!METHODS.includes(one.method)) METHODS.push(one.method);
const hue = (method) => METHODS.indexOf(method) % 8;

function polygon(count, radius, turn, inner = 1) {
  const corners = Array.from({ length: count }, (_, index) => {
    const angle = turn + (2 * Math.PI * index) / count, reach = index % 2 ? radius * inner : radius;
    return (reach * Math.sin(angle)).toFixed(2) + " " + (-reach * Math.cos(angle)).toFixed(2);
  });
  return "M" + corners.join("L") + "Z";
}
function shape(method, radius) {
  const r = radius, plus = 0.42 * r;
  return [
    () => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
    () => polygon(4, 1.22 * r, 0),
    () => polygon(6, 1.1 * r, 0),
    () => polygon(4, 1.25 * r, Math.PI / 4),
    () => polygon(3, 1.35 * r, 0),
    () => polygon(3, 1.35 * r, Math.PI),
    () => polygon(10, 1.4 * r, 0, 0.5),
    () => `M${-plus} ${-1.15 * r}H${plus}V${-plus}H${1.15 * r}V${plus}H${plus}V${1.15 * r}H${-plus}V${plus}H${-1.15 * r}V${-plus}H${-plus}Z`,
  ][hue(method)]();
}
const PRECISION_MARKS = { f64: "M-1.6 0a1.6 1.6 0 1 0 3.2 0a1.6 1.6 0 1 0 -3.2 0Z", q15: "M-3 -.8H3V.8H-3Z", q7: "M-3 -.8H-.8V-3H.8V-.8H3V.8H.8V3H-.8V.8H-3Z" };
function glyph(method, precision, radius = 6.5) {
  const mark = PRECISION_MARKS[precision];
  return [draw("path", { class: "body", d: shape(method, radius) }), mark && draw("path", { class: "mark", d: mark })];
}
function small_glyph(method, precision) {
  return draw("svg", { class: "glyph hue-" + hue(method), viewBox: "-10 -10 20 20", "aria-hidden": "true" }, ...glyph(method, precision));
}

