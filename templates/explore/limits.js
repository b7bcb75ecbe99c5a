/* Limits: a slider each, whose last stop on the loose side is "no limit". */
const LIMITS = { /* what is said of those that meet one, and of those that do not */
  same_labels: ["proven", "not proven"], agreement: ["sure to keep so many", "may change too many"], accuracy_loss: ["accurate enough", "may lose too much accuracy"],
  latency_us: ["fast enough", "too slow"], batch_latency_us: ["fast enough in batches", "too slow in batches"], max_bytes: ["small enough", "too large"],
  flash: ["fit into the flash", "too large for the flash"], ram: ["fit into memory", "need too much memory"] };
const AGREEMENTS = [null, 0.9, 0.95, 0.97, 0.98, 0.985, 0.99, 0.9925, 0.995, 0.9975, 0.998, 0.999, 0.9995, 0.9999, "proven"];
const LOSSES = [0, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, null];

function cost_stops(key) {
  const values = candidates.filter((one) => one.state === "measured").map((one) => one.figures[key]).filter(is_set);
  const binary = figure_named(key).format === bytes, steps = binary ? [1, 1.25, 1.5, 1.75] : [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8], base = binary ? 2 : 10, found = [];
  const least = Math.min(...values), most = Math.max(...values);
  for (let power = Math.floor(Math.log(least) / Math.log(base)) - 1; base ** power <= most; power++)
    for (const step of steps) {
      const value = Number((step * base ** power).toPrecision(12));
      if (value > least / 2 && value < most * 1.01) found.push(binary ? Math.round(value) : value);
    }
  return [...new Set(found), null];
}

function with_stop(stops, value, down) {
  if (!is_set(value) || stops.includes(value)) return stops;
  const numbers = [...stops.filter((stop) => typeof stop === "number"), value].sort((a, b) => a - b);
  return down ? [null, ...numbers, "proven"] : [...numbers, null];
}

function limit_controls() {
  const given = settings.limits, found = [];
  found.push({ id: "agreement", name: outcomes() + " kept", stops: with_stop(AGREEMENTS, given.agreement, true),
    text: (stop) => (stop === null ? "no limit" : stop === "proven" ? "every one, proven" : "at least " + plain_percent(stop)),
    get: (limits) => (limits.same_labels ? "proven" : limits.agreement),
    set: (limits, stop) => Object.assign(limits, { same_labels: stop === "proven", agreement: stop === "proven" ? null : stop }) });
  const simple = (id, name, stops, text) => found.push({ id, name, stops: with_stop(stops, given[id]), text: (stop) => (stop === null ? "no limit" : text(stop)),
    get: (limits) => limits[id], set: (limits, stop) => { limits[id] = stop; } });
  if (candidates.some((one) => one.accuracy && one.accuracy.expected_loss_high)) simple("accuracy_loss", "accuracy lost", LOSSES, (stop) => "at most " + plain_percent(stop));
  for (const [id, key] of Object.entries(UPPER_LIMITS)) {
    const figure = figure_named(key), known = candidates.some((one) => one.state === "measured" && is_set(one.figures[key]));
    const extra = !is_set(given[id]) && (id === "batch_latency_us" || id === "ram" || (id === "max_bytes" && figure_named("flash_bytes")));
    if (figure && known && !extra) simple(id, figure.name, cost_stops(key), (stop) => "at most " + figure.format(stop));
  }
  return found;
}

function make_limits() {
  const place = at("limits");
  for (const control of limit_controls()) {
    const now = control.get(state.limits), output = make("output", { for: "limit-" + control.id, id: "shown-" + control.id });
    const slider = make("input", { type: "range", id: "limit-" + control.id, min: 0, max: control.stops.length - 1, step: 1 });
    const show = () => {
      output.textContent = control.text(control.stops[slider.value]);
      slider.setAttribute("aria-valuetext", output.textContent);
      slider.dataset.limit = JSON.stringify(control.stops[slider.value]);
      slider.classList.toggle("off", control.stops[slider.value] === null);
    };
    slider.value = control.stops.indexOf(is_set(now) ? now : null);
    slider.addEventListener("input", () => {
      control.set(state.limits, control.stops[slider.value]);
      show();
      choose_again();
    });
    show();
    place.append(make("div", { class: "limit" }, make("label", { for: "limit-" + control.id, text: control.name }), output, slider));
  }
  const wishes = ["time", "batch-time", "instructions", "bytes", "energy"].filter((wish) => figure_named(cost_key(wish)) && !(wish === "instructions" && settings.cpu));
  const select = make("select", { id: "minimise" }, ...wishes.map((wish) => make("option", { value: wish, text: "least " + figure_named(cost_key(wish)).name })));
  select.value = state.minimise;
  select.addEventListener("change", () => { state.minimise = select.value; choose_again(); });
  place.append(make("div", { class: "limit" }, make("label", { for: "minimise", text: "then" }), select));
}

/* The winner under the limits; where there is none, how many candidates meet each limit alone. */
function draw_choice() {
  const { winner, failed, unmet, count } = state.choice, place = at("choice");
  if (winner) {
    const key = cost_key(state.minimise), size = cost_key("bytes"), figures = [key, ...(size !== key ? [size] : [])].filter((name) => is_set(winner.figures[name]));
    place.replaceChildren(make("p", { class: "eyebrow", text: "auto takes" }),
      make("button", { type: "button", id: "winner", class: "winner-name", "data-number": winner.number, onclick: () => pin(winner.number) }, small_glyph(winner.method, winner.precision), make("bdi", { text: winner.title })),
      make("p", { class: "soft" }, ...[agreement_text(winner), ...figures.map((name) => figure_named(name).format(winner.figures[name]) + " " + figure_named(name).name)].map((text) => make("span", { class: "line", text }))),
      make("div", { class: "command" }, ...command_line(winner.command, winner.title)));
  } else {
    const alone = Object.keys(LIMITS).map((name) => [name, candidates.filter((one) => one.state === "measured" && !(unmet.get(one.number) || [name]).includes(name)).length])
      .filter(([name]) => (name === "same_labels" ? state.limits.same_labels : is_set(state.limits[name])));
    place.replaceChildren(make("p", { class: "eyebrow", text: "auto takes" }), make("p", { id: "winner", "data-number": "", class: "winner-name none", text: "None meets all of these" }),
      make("ul", { class: "soft" }, ...alone.map(([name, number]) => make("li", { text: number + " " + LIMITS[name][0] })),
        failed.size > 0 && make("li", { text: plural(failed.size, "finalist") + " failed on the reporting rows" })));
  }
  place.append(make("p", { class: "fine", text: "Bounds of " + plain_percent(settings.confidence) + " confidence, for the best of up to " + count + (count === 1 ? " finalist." : " finalists.") }));
}

