/* What a dot says: its name beside it, a box on hover and focus, a sentence for screen readers. */
const NAME_PLACES = [[1, 0, "start"], [-1, 0, "end"], [0, -1, "middle"], [0, 1.1, "middle"], [0.7, -1, "start"],
  [0.7, 1, "start"]];
function names(box, view) {
  const taken = view.dots.map((dot) => [dot.x - 8, dot.y - 8, dot.x + 8, dot.y + 8]), found = [];
  const clash = (a) => taken.some((b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]);
  const inside = (a) => a[0] >= box.left && a[2] <= box.width - 4 && a[1] >= box.top && a[3] <= box.bottom;
  const weight = ({ one }) => (state.choice.winner === one ? 2 : 0) + (state.pinned === one.number ? 1 : 0);
  const named = view.dots.filter((dot) => dot.known && (state.front.has(dot.one.number) || weight(dot)));
  for (const dot of named.sort((a, b) => weight(b) - weight(a))) {
    const text = short(dot.one.title, box.narrow ? 18 : 30), width = 6.3 * text.length, gap = weight(dot) ? 18 : 12;
    for (const [side, down, anchor] of NAME_PLACES) {
      const x = dot.x + side * gap, y = dot.y + 4 + down * (gap + 4),
        left = x - { start: 0, middle: width / 2, end: width }[anchor];
      const place = [left - 2, y - 11, left + width + 2, y + 3];
      if (!inside(place) || clash(place)) continue;
      taken.push(place);
      found.push(label(weight(dot) ? "name strong" : "name", x, y, anchor, text));
      break;
    }
  }
  return found;
}

function describe(one) {
  const { key, name, format } = state.x.axis, cost = one.figures[key], several = record.models.length > 1;
  return [one.number + ", " + one.title, one.precision, lower_case(one.claim), several && "model " + one.model,
    (one.agreement || one.proven) && outcomes() + " kept: " + agreement_text(one),
    is_set(cost) && name + ": " + format(cost), verdict(one)].filter(Boolean).join("; ");
}

/* Why a candidate is taken or not, under the limits set now. */
function verdict(one) {
  const { winner, failed, unmet } = state.choice, misses = unmet.get(one.number) || [];
  if (one.state !== "measured") return one.state + (one.reason ? ": " + one.reason : "");
  if (winner === one) return "taken";
  if (misses.length) return misses.map((name) => LIMITS[name][1]).join(", ");
  if (failed.has(one.number)) return "failed on the reporting rows";
  return one.reason || "meets the limits";
}
function traits(one) {
  const several = record.models.length > 1;
  return joined(several && one.model, one.claim, one.precision, one.tables && one.tables + " tables", one.target,
    one.profile);
}

function show_tip(number) {
  const dot = dots.get(number), tip = at("tip");
  if (!dot) return;
  const { one } = dot, lines = figure_lines(one).flatMap(([name, text]) =>
    [make("dt", {}, name), make("dd", {}, text)]);
  tip.replaceChildren(make("strong", {}, small_glyph(one.method, one.precision), own(one.number + "  " + one.title)),
    soft(traits(one)), make("dl", {}, ...lines), make("p", { class: "verdict" }, verdict(one)));
  tip.hidden = false;
  const room = at("plot").clientWidth, wide = tip.offsetWidth, tall = tip.offsetHeight;
  const left = dot.x + 18 + wide > room ? dot.x - 18 - wide : dot.x + 18;
  tip.style.left = Math.max(0, Math.min(room - wide, left)) + "px";
  tip.style.top = Math.max(0, Math.min(at("plot").clientHeight - tall, dot.y - tall / 2)) + "px";
}
function hide_tip() {
  at("tip").hidden = true;
}

/* Dots overlap: the pointer means the one whose middle is nearest. A click without a place, as screen
 * readers make them, means the dot it was made on. */
function nearest(event) {
  const edge = at("canvas").getBoundingClientRect(), scale = at("canvas").viewBox.baseVal.width / edge.width;
  const x = (event.clientX - edge.left) * scale, y = (event.clientY - edge.top) * scale;
  const away = (dot) => Math.hypot(dot.x - x, dot.y - y);
  const best = [...dots.values()].reduce((a, b) => (a && away(a) < away(b) ? a : b), null);
  return best && away(best) < REACH + 3 ? best.one.number : null;
}
function make_pointer() {
  const canvas = at("canvas");
  canvas.addEventListener("pointermove", (event) => {
    const number = nearest(event);
    canvas.classList.toggle("aimed", number !== null);
    if (number === null) hide_tip();
    else show_tip(number);
  });
  canvas.addEventListener("pointerleave", hide_tip);
  canvas.addEventListener("click", (event) => {
    const dot = event.target.closest(".dot"),
      number = event.detail ? nearest(event) : dot && Number(dot.dataset.number);
    if (number !== null) pin(number);
  });
}

/* Arrows go to the next dot on the screen in that direction, Enter and Space pin, Escape lets go. */
function dot_key(event, number) {
  const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (event.key === "Enter" || event.key === " ") pin(number);
  else if (event.key === "Escape") pin(null);
  else if (step) go(dots.get(number), ...step);
  else return;
  event.preventDefault();
}
function go(from, right, down) {
  const along = (dot) => (dot.x - from.x) * right + (dot.y - from.y) * down
    || (dot.one.number - from.one.number) * 1e-6;
  const ahead = [...dots.values()].filter((dot) => dot !== from && along(dot) > 0);
  ahead.sort((a, b) => along(a) - along(b) || a.one.number - b.one.number);
  if (ahead.length) node_of(ahead[0].one.number).focus();
}

