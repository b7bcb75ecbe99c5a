
"use strict";
const at = (id) => document.getElementById(id);
const facts = JSON.parse(at("facts").textContent);
const width = facts.n_features, side = facts.side, MOST_FIELDS = 256;
const Numbers = facts.double ? Float64Array : Float32Array;
const low = facts.low.reduce((a, b) => Math.min(a, b)), high = facts.high.reduce((a, b) => Math.max(a, b));
let model = null, row = new Numbers(width), fields = [], sliders = [];

function made(tag, name, text) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
}

/* The model: rows go into the module's memory, results come out of it. */
function answer(values) {
  const bytes = Numbers.BYTES_PER_ELEMENT, counts = [facts.scores.length, facts.chances.length];
  const end = width + counts[0] + counts[1], several = facts.results > 1;
  const start = model.reserve(bytes * (end + facts.results)) >>> 0;
  if (!start) throw new Error("no memory for a row");
  const view = (skip, count) => new Numbers(model.memory.buffer, start + bytes * skip, count);
  view(0, width).set(values);
  const found = { scores: [], chances: [], results: [model.predict(start, start + bytes * end)] };
  if (several)
    found.results = Array.from(facts.labels ? new Int32Array(model.memory.buffer, start + bytes * end, facts.results) : view(end, facts.results));
  if (facts.scores.length) {
    model.decision_function(start, start + bytes * width);
    found.scores = Array.from(view(width, counts[0]));
  }
  if (facts.chances.length) {
    model.predict_proba(start, start + bytes * (width + counts[0]));
    found.chances = Array.from(view(width + counts[0], counts[1]));
  }
  return found;
}

function shown(number) {
  return Number.isFinite(number) ? String(Number(number.toPrecision(6))) : String(number);
}

function per_cent(share) {
  return Number.isFinite(share) ? (100 * share).toFixed(1) + "\u00a0%" : String(share);
}

function bars(place, title, names, values, best, chances) {
  place.replaceChildren();
  if (!values.length) return;
  place.append(made("div", "title", title));
  const sizes = values.map((value) => (Number.isFinite(value) ? Math.abs(value) : 0));
  const most = chances ? 1 : Math.max(...sizes, 1e-30), split = values.some((value) => value < 0) ? 50 : 0;
  values.forEach((value, index) => {
    const mark = index === best ? " best" : "", track = made("div", "track");
    const fill = made("div", "fill" + (value < 0 ? " minus" : "") + mark);
    const share = (sizes[index] / most) * (100 - split);
    fill.style.left = (value < 0 ? split - share : split) + "%";
    fill.style.width = share + "%";
    track.append(fill);
    const number = made("div", "number" + mark, chances ? per_cent(value) : shown(value));
    number.dataset.value = String(value);
    const who = made("div", "who" + mark, names[index]);
    who.title = names[index];
    place.append(who, track, number);
  });
}

function classify() {
  if (!model) return;
  at("problem").textContent = "";
  try {
    const found = answer(row);
    const text = found.results.map((one) => (facts.labels ? facts.labels[one] : shown(one))).join(", ");
    at("label").textContent = text;
    at("label").className = text.length > 12 ? "long" : "";
    at("label").dataset.value = String(found.results);
    const own = facts.results > 1 ? -1 : found.results[0];
    const best = facts.labels && facts.scores.length === facts.labels.length ? own : -1;
    bars(at("scores"), "decision values", facts.scores, found.scores, best);
    bars(at("chances"), "probabilities", facts.chances, found.chances, own, true);
  } catch (error) {
    at("problem").textContent = "The model stopped: " + error.message;
  }
}

/* Typing: a field per feature with a slider over the range of the data, or all numbers in one where they are
 * many. */
function make_fields() {
  const single = width > MOST_FIELDS;
  at("many").hidden = !single;
  at("grid").hidden = single;
  if (single) return;
  if (side) {
    at("grid").className = "picture";
    at("grid").style.gridTemplateColumns = "repeat(" + side + ", minmax(0, 1fr))";
  }
  for (let j = 0; j < width; j++) {
    const name = facts.features[j] || "x" + j, holder = made("label"), codes = facts.codes[j];
    const field = codes ? make_choice(codes) : made("input");
    if (!codes) {
      field.type = "number";
      field.step = "any";
      field.title = name + ": " + shown(facts.low[j]) + " to " + shown(facts.high[j]) + " in the data";
    }
    field.setAttribute("aria-label", name);
    field.addEventListener("input", () => {
      row[j] = field.value === "" ? NaN : Number(field.value);
      show_on_slider(j);
      after_typing();
    });
    fields.push(field);
    if (!side) holder.append(made("span", "", name));
    holder.append(field);
    if (!side && !codes && facts.high[j] > facts.low[j]) holder.append(make_slider(j, name));
    at("grid").append(holder);
  }
}

/* A feature that is text: its categories, each with its code. */
function make_choice(codes) {
  const choice = made("select");
  for (const [name, code] of codes) {
    const option = made("option", "", name);
    option.value = String(code);
    choice.append(option);
  }
  return choice;
}

function make_slider(j, name) {
  const slider = made("input");
  slider.type = "range";
  slider.min = String(facts.low[j]);
  slider.max = String(facts.high[j]);
  slider.step = String((facts.high[j] - facts.low[j]) / 200);
  slider.setAttribute("aria-label", name + ", from " + shown(facts.low[j]) + " to " + shown(facts.high[j]));
  slider.addEventListener("input", () => {
    row[j] = Number(slider.value);
    show_in_field(j);
    after_typing();
  });
  sliders[j] = slider;
  return slider;
}

function show_in_field(j) { fields[j].value = String(Number(row[j].toPrecision(7))); }
function show_on_slider(j) { if (sliders[j] && Number.isFinite(row[j])) sliders[j].value = String(row[j]); }

function after_typing() {
  const missing = row.findIndex((value) => !Number.isFinite(value));
  picture();
  classify();
  if (missing >= 0) at("problem").textContent = (facts.features[missing] || "x" + missing) + " is not a number.";
}

function take_many(text) {
  const numbers = text.split(/[\s,;]+/).filter((part) => part !== "").map(Number);
  if (numbers.length !== width || numbers.some(Number.isNaN)) {
    at("problem").textContent = "Expected " + width + " numbers, found " + numbers.filter((n) => !Number.isNaN(n)).length + ".";
    return;
  }
  take(numbers);
}

/* A whole row, from an example, the address or the pad: shown everywhere, then classified. */
function take(numbers, drawn) {
  row.set(numbers);
  fields.forEach((_, j) => { show_in_field(j); show_on_slider(j); });
  if (width > MOST_FIELDS && document.activeElement !== at("many"))
    at("many").value = Array.from(row, (value) => Number(value.toPrecision(7))).join(", ");
  if (side && !drawn) show_on_pad();
  picture();
  classify();
}

/* Drawing: ink on the pad becomes the mean darkness of each cell, in the range of the data. */
function pen_of(pad) {
  return pad.getContext("2d", { willReadFrequently: true });
}

function ink() {
  const pad = at("pad"), pixels = pen_of(pad).getImageData(0, 0, pad.width, pad.height).data;
  return Float32Array.from({ length: pad.width * pad.height }, (_, i) => pixels[4 * i + 3] / 255);
}

function box(dark, size) {
  let left = size, right = -1, top = size, bottom = -1, mass = 0, across = 0, down = 0;
  for (let y = 0; y < size; y++) for (let x = 0; x < size; x++) {
    const value = dark[y * size + x];
    if (value < 0.1) continue;
    left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y);
    mass += value; across += value * x; down += value * y;
  }
  return mass ? { span: Math.max(right - left, bottom - top) + 1, middle_x: (left + right + 1) / 2,
    middle_y: (top + bottom + 1) / 2, mass_x: across / mass + 0.5, mass_y: down / mass + 0.5 } : null;
}

/* Pictures of digits fill their square, or, from 20 pixels on, a frame of a seventh stays free around their
 * centre of mass: that is how the known sets were made. */
function cells() {
  const size = at("pad").width, dark = ink(), found = box(dark, size), wide = side >= 20, parts = 6;
  if (!found) return new Array(width).fill(low);
  const fit = at("fit").checked, span = fit ? found.span / (wide ? 5 / 7 : 1) : size;
  const from_x = fit ? (wide ? found.mass_x : found.middle_x) - span / 2 : 0;
  const from_y = fit ? (wide ? found.mass_y : found.middle_y) - span / 2 : 0;
  const step = span / side / parts;
  return Array.from({ length: width }, (_, j) => {
    let sum = 0;
    for (let v = 0; v < parts; v++) for (let u = 0; u < parts; u++) {
      const x = Math.floor(from_x + ((j % side) * parts + u + 0.5) * step);
      const y = Math.floor(from_y + (Math.floor(j / side) * parts + v + 0.5) * step);
      if (x >= 0 && y >= 0 && x < size && y < size) sum += dark[y * size + x];
    }
    return low + (sum / (parts * parts)) * (high - low);
  });
}

function shade(value) {
  const share = (value - low) / (high - low || 1);
  return Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0));
}

function picture() {
  if (!side) return;
  const seen = at("seen"), image = new ImageData(side, side);
  seen.width = seen.height = side;
  row.forEach((value, j) => image.data.set([28, 36, 48, 255 * shade(value)], 4 * j));
  seen.getContext("2d").putImageData(image, 0, 0);
}

function show_on_pad() {
  const pad = at("pad"), pen = pen_of(pad), cell = pad.width / side;
  pen.clearRect(0, 0, pad.width, pad.height);
  row.forEach((value, j) => {
    pen.fillStyle = "rgba(28, 36, 48, " + shade(value) + ")";
    pen.fillRect((j % side) * cell, Math.floor(j / side) * cell, cell, cell);
  });
  fresh = true;
}

let fresh = true, waiting = false, last = null; /* fresh: the next stroke starts on an empty pad */
function place(event) {
  const pad = at("pad"), edge = pad.getBoundingClientRect(), scale = pad.width / edge.width;
  return [(event.clientX - edge.left) * scale, (event.clientY - edge.top) * scale];
}
function stroke(event) {
  if (!last) return;
  const pad = at("pad"), pen = pen_of(pad), next = place(event);
  pen.strokeStyle = "rgb(28, 36, 48)";
  pen.lineCap = pen.lineJoin = "round";
  pen.lineWidth = pad.width / 9;
  pen.beginPath();
  pen.moveTo(...last);
  pen.lineTo(...next);
  pen.stroke();
  last = next;
  redraw();
}
function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; take(cells(), true); });
}
function clear_pad() {
  pen_of(at("pad")).clearRect(0, 0, at("pad").width, at("pad").height);
  fresh = false;
}

function make_pad() {
  const pad = at("pad");
  pad.addEventListener("pointerdown", (event) => {
    if (fresh) clear_pad();
    pad.setPointerCapture(event.pointerId);
    last = place(event);
    stroke(event);
  });
  pad.addEventListener("pointermove", stroke);
  for (const end of ["pointerup", "pointercancel"]) pad.addEventListener(end, () => { last = null; });
  at("clear").addEventListener("click", () => { clear_pad(); redraw(); });
  at("fit").addEventListener("change", () => { if (!fresh) redraw(); });
  at("tabs").hidden = false;
  for (const kind of ["draw", "type"]) at("tab-" + kind).addEventListener("click", () => choose(kind));
  choose("draw");
}

function choose(kind) {
  for (const one of ["draw", "type"]) {
    at(one).hidden = one !== kind;
    at("tab-" + one).setAttribute("aria-pressed", String(one === kind));
  }
}

/* #row=1,2,3 in the address sets the features, so that a row can be linked to. */
function from_address() {
  const found = /^#row=(.*)$/.exec(decodeURIComponent(location.hash));
  if (found) take_many(found[1]);
  else take(facts.examples[0] || facts.low);
}

/* Stored rows, one after the other. */
function make_examples() {
  const count = facts.examples.length, caption = made("span", "caption", "stored row 1 of " + count);
  let current = 0;
  const step = (text, name, by) => {
    const button = made("button", "", text);
    button.type = "button";
    button.setAttribute("aria-label", name);
    button.addEventListener("click", () => {
      current = (current + by + count) % count;
      caption.textContent = "stored row " + (current + 1) + " of " + count;
      take(facts.examples[current]);
    });
    return button;
  };
  if (count) at("examples").append(step("\u2039", "previous stored row", -1), caption, step("\u203a", "next stored row", 1));
}

async function begin() {
  at("about").textContent = facts.about.join(" \u00b7 ");
  if (!facts.labels) at("answer-caption").textContent = "value";
  make_fields();
  make_examples();
  if (side) make_pad();
  at("many").addEventListener("input", () => take_many(at("many").value));
  const bytes = Uint8Array.from(atob(at("module").textContent), (character) => character.charCodeAt(0));
  model = (await WebAssembly.instantiate(bytes, {})).instance.exports;
  at("size").textContent = "Module: " + (bytes.length / 1000).toFixed(1) + " KB.";
  const failed = model.self_test();
  at("test").textContent = failed ? "Self-test: " + failed + " rows FAIL." : "Self-test passed.";
  addEventListener("hashchange", from_address);
  from_address();
  document.documentElement.dataset.ready = "yes";
}
begin().catch((error) => { at("problem").textContent = "The model cannot be loaded: " + error.message; });
