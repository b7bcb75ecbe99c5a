/* What the axes show. On the y axis every value is a loss: 0 is best, whatever the axis is called. */
const Y_AXES = offered([
  { key: "disagreement", name: outcomes() + " that change", format: small,
    loss(one) {
      if (one.proven) return { value: 0, low: 0, high: 0 };
      const report = one.agreement && one.agreement.report;
      return report ? { value: 1 - report.share, low: 1 - report.high, high: 1 - report.low.at(-1) } : null;
    } },
  { key: "accuracy", name: "accuracy", flip: true, format: (loss) => percent(1 - loss),
    loss(one) {
      const found = one.accuracy, end = (bound) => 1 - (is_set(found[bound]) ? found[bound] : found.share);
      return found ? { value: 1 - found.share, low: end("high"), high: end("low") } : null;
    } },
  { key: "error", name: "worst decision error", format: plain,
    loss(one) {
      const value = one.max_decision_error;
      return is_set(value) ? { value, low: value, high: value } : null;
    } },
], (axis, one) => axis.loss(one));

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
  const place = (value) => from + ((to - from) * (turn(Math.min(high, Math.max(low, value))) - first)) / span;
  const marks = log && high / low > 6 ? log_ticks(low, high, base) : linear_ticks(low, high, base);
  const every = Math.ceil(marks.length / Math.max(2, Math.floor(Math.abs(to - from) / room)));
  const ticks = marks.filter((_, index) => index % every === 0);
  return { place, ticks: ticks.map((value) => ({ at: place(value), text: format(value) })) };
}
function log_ticks(low, high, base) {
  const span = Math.log(high / low) / Math.log(base), found = [];
  const steps = base !== 10 || span > 3 ? [1] : span > 1.7 ? [1, 3] : [1, 2, 5];
  for (let power = Math.floor(Math.log(low) / Math.log(base)); base ** power <= high; power++)
    found.push(...steps.map((step) => Number((step * base ** power).toPrecision(12))));
  return found.filter((value) => value >= low && value <= high);
}
function linear_ticks(low, high, base) {
  const rough = (high - low) / 6, power = base ** Math.floor(Math.log(rough) / Math.log(base)), found = [];
  const step = (base === 10 ? [1, 2, 5, 10] : [1, 2]).map((count) => count * power).find((one) => one >= rough)
    || power;
  for (let index = Math.ceil(low / step); index * step <= high; index++)
    found.push(Number((index * step).toPrecision(12)));
  return found;
}

/* Shapes tell methods apart without colour; the mark inside tells the precision. */
const METHODS = ["exact", "certified", "anytime", "reduced-set", "metric-tree", "h1-tree", "dtsvm", "sv-tree",
  "linear", "proto"];
for (const one of candidates) if (!METHODS.includes(one.method)) METHODS.push(one.method);
const hue = (method) => METHODS.indexOf(method) % SHAPES.length;
const MARKS = { f64: "M-1.6 0a1.6 1.6 0 1 0 3.2 0a1.6 1.6 0 1 0 -3.2 0Z", q15: "M-3 -.8H3V.8H-3Z",
  q7: "M-3 -.8H-.8V-3H.8V-.8H3V.8H.8V3H-.8V.8H-3Z" };

function polygon(count, radius, turn = 0, inner = 1) {
  const corners = Array.from({ length: count }, (_, index) => {
    const angle = turn + (2 * Math.PI * index) / count, reach = index % 2 ? radius * inner : radius;
    return (reach * Math.sin(angle)).toFixed(2) + " " + (-reach * Math.cos(angle)).toFixed(2);
  });
  return "M" + corners.join("L") + "Z";
}
const SHAPES = ["M-6.5 0a6.5 6.5 0 1 0 13 0a6.5 6.5 0 1 0 -13 0Z", polygon(4, 8), polygon(6, 7.2),
  polygon(4, 8.1, Math.PI / 4),
  polygon(3, 8.8), polygon(3, 8.8, Math.PI), polygon(10, 9.1, 0, 0.5),
  "M-2.7 -7.5H2.7V-2.7H7.5V2.7H2.7V7.5H-2.7V2.7H-7.5V-2.7H-2.7Z", "M-8.5 -2.6H8.5V2.6H-8.5Z",
  polygon(8, 8.4, 0, 0.62)];
function glyph(method, precision) {
  const mark = MARKS[precision];
  return [draw("path", { class: "body", d: SHAPES[hue(method)] }), mark && draw("path", { class: "mark", d: mark })];
}
function small_glyph(method, precision) {
  const kind = { class: "glyph hue-" + hue(method), viewBox: "-10 -10 20 20", "aria-hidden": "true" };
  return draw("svg", kind, ...glyph(method, precision));
}

