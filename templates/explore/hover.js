/* What a dot says: its name beside it, a box on hover and focus, a sentence for screen readers. */
function names(box, view) {
  const taken = view.dots.map((dot) => [dot.x - 8, dot.y - 8, dot.x + 8, dot.y + 8]), found = [];
  const overlaps = (one) => taken.some((other) => one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3]);
  const important = (dot) => (state.choice.winner === dot.one ? 2 : 0) + (state.pinned === dot.one.number ? 1 : 0);
  const named = view.dots.filter((dot) => dot.known && (view.front.has(dot.one.number) || important(dot)));
  for (const dot of named.sort((a, b) => important(b) - important(a))) {
    const text = short(dot.one.title, box.narrow ? 18 : 30), width = 6.3 * text.length, gap = important(dot) ? 18 : 12;
    const places = [[gap, 4, "start"], [-gap, 4, "end"], [0, -gap - 2, "middle"], [0, gap + 10, "middle"], [9, -11, "start"], [9, 19, "start"]];
    for (const [x, y, anchor] of places) {
      const left = dot.x + x - { start: 0, middle: width / 2, end: width }[anchor];
      const area = [left - 2, dot.y + y - 11, left + width + 2, dot.y + y + 3];
      if (area[0] < box.left || area[2] > box.width - 4 || area[1] < box.top || area[3] > box.bottom || overlaps(area)) continue;
      taken.push(area);
      found.push(draw("text", { class: important(dot) ? "name strong" : "name", x: dot.x + x, y: dot.y + y, "text-anchor": anchor, text }));
      break;
    }
  }
  return found;
}

function describe(one) {
  const parts = [one.number + ", " + one.title, one.precision, one.claim.toLowerCase().replace("_", " ")];
  if (record.models.length > 1) parts.push("model " + one.model);
  if (one.agreement || one.proven) parts.push(outcomes() + " kept: " + agreement_text(one));
  const figure = one.figures[state.x.axis.key];
  if (is_set(figure)) parts.push(state.x.axis.name + ": " + state.x.axis.format(figure));
  parts.push(verdict(one));
  return parts.join("; ");
}

/* Why a candidate is taken or not, under the limits set now. */
function verdict(one) {
  if (one.state !== "measured") return one.state + (one.reason ? ": " + one.reason : "");
  const unmet = state.choice.unmet.get(one.number) || [];
  if (state.choice.winner === one) return "taken";
  if (unmet.length) return unmet.map((name) => LIMITS[name][1]).join(", ");
  if (state.choice.failed.has(one.number)) return "failed on the reporting rows";
  return one.reason || "meets the limits";
}

function show_tip(number) {
  const dot = dots.get(String(number)), tip = at("tip");
  if (!dot) return;
  const one = dot.one, lines = [[outcomes() + " kept", agreement_text(one)], ["accuracy", one.accuracy && accuracy_text(one)],
    ["worst decision error", is_set(one.max_decision_error) && digits(one.max_decision_error)],
    ...FIGURES.map((figure) => [figure.name, is_set(one.figures[figure.key]) && figure.format(one.figures[figure.key]) + (one.figures.predicted ? ", predicted" : "")])];
  tip.replaceChildren(make("strong", {}, small_glyph(one.method, one.precision), make("bdi", { text: one.number + "  " + one.title })),
    make("span", { class: "soft", text: [record.models.length > 1 && one.model, one.claim, one.precision, one.tables && one.tables + " tables", one.target, one.profile].filter(Boolean).join(" \u00b7 ") }),
    make("dl", {}, ...lines.filter(([, text]) => text && text !== "\u2013").flatMap(([name, text]) => [make("dt", { text: name }), make("dd", { text })])),
    make("span", { class: "verdict", text: verdict(one) }));
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
  const x = (event.clientX - edge.left) * scale, y = (event.clientY - edge.top) * scale, away = (dot) => Math.hypot(dot.x - x, dot.y - y);
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
    const dot = event.target.closest(".dot"), number = event.detail ? nearest(event) : dot && Number(dot.dataset.number);
    if (number !== null) pin(number);
  });
}

/* Arrows go to the next dot on the screen in that direction, Enter and Space pin, Escape lets go. */
function dot_key(event, number) {
  const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (event.key === "Enter" || event.key === " ") pin(number);
  else if (event.key === "Escape") pin(null);
  else if (step) go(dots.get(String(number)), ...step);
  else return;
  event.preventDefault();
}
function go(from, right, down) {
  const along = (dot) => (dot.x - from.x) * right + (dot.y - from.y) * down || (dot.one.number - from.one.number) * 1e-6;
  const ahead = [...dots.values()].filter((dot) => dot !== from && along(dot) > 0);
  ahead.sort((a, b) => along(a) - along(b) || a.one.number - b.one.number);
  if (ahead.length) node_of(ahead[0].one.number).focus();
}

