/* Limits: a slider each, whose last stop on the loose side is "no limit". */
const LIMITS = { /* what is said of those that meet one, and of those that do not */
  same_labels: ["proven", "not proven"],
  agreement: ["sure to keep so many", "may change too many"],
  accuracy_loss: ["accurate enough", "may lose too much accuracy"],
  latency_us: ["fast enough", "too slow"],
  batch_latency_us: ["fast enough in batches", "too slow in batches"],
  max_bytes: ["small enough", "too large"],
  flash: ["fit into the flash", "too large for the flash"],
  ram: ["fit into memory", "need too much memory"],
};
const AGREEMENTS = [0.9, 0.95, 0.97, 0.98, 0.985, 0.99, 0.9925, 0.995, 0.9975, 0.998, 0.999, 0.9995, 0.9999];
const LOSSES = [0, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05];

/* Round numbers over the range of a figure. */
function cost_stops({ key, format }) {
  const values = candidates.filter((one) => one.state === "measured").map((one) => one.figures[key]).filter(is_set);
  const binary = format === bytes, base = binary ? 2 : 10, least = Math.min(...values), most = Math.max(...values),
    found = [];
  const steps = binary ? [1, 1.25, 1.5, 1.75] : [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
  for (let power = Math.floor(Math.log(least || 1) / Math.log(base)) - 1; base ** power <= most; power++)
    found.push(...steps.map((step) => Number((step * base ** power).toPrecision(12))));
  return found.filter((value) => value > least / 2 && value < most * 1.01 && (!binary || Number.isInteger(value)));
}

/* What has a slider: labels, accuracy where rows have labels, and costs that are known. Memory, batches and,
 * on a device, table bytes only where the search had such a limit. */
function limit_controls() {
  const given = settings.limits, found = [];
  const add = (id, name, stops, text, rest = {}) => {
    const all = [...new Set([...stops, ...(is_set(given[id]) ? [given[id]] : [])])].sort((a, b) => a - b);
    found.push({ id, name, stops: [...all, null], text: (stop) => (stop === null ? "no limit" : text(stop)),
      get: (limits) => limits[id], set: (limits, stop) => { limits[id] = stop; }, ...rest });
    return all;
  };
  const shares = add("agreement", outcomes() + " kept", AGREEMENTS,
    (stop) => (stop === "proven" ? "every one, proven" : "at least " + round_percent(stop)),
    { get: (limits) => (limits.same_labels ? "proven" : limits.agreement),
      set: (limits, stop) => Object.assign(limits,
        { same_labels: stop === "proven", agreement: stop === "proven" ? null : stop }) });
  found[0].stops = [null, ...shares, "proven"];
  if (candidates.some((one) => one.accuracy && one.accuracy.expected_loss_high))
    add("accuracy_loss", "accuracy lost", LOSSES, (stop) => "at most " + round_percent(stop));
  const rare = { batch_latency_us: true, ram: true, max_bytes: figure_named("flash_bytes") };
  for (const [id, key] of Object.entries(UPPER_LIMITS)) {
    const figure = figure_named(key), text = (stop) => "at most " + figure.format(stop);
    const known = candidates.some((one) => one.state === "measured" && is_set(one.figures[key]));
    if (known && (is_set(given[id]) || !rare[id])) add(id, figure.name, cost_stops(figure), text);
  }
  return found;
}

function make_limit({ id, name, stops, text, get, set }) {
  const now = get(state.limits), output = make("output", { for: "limit-" + id, id: "shown-" + id });
  const slider = make("input", { type: "range", id: "limit-" + id, min: 0, max: stops.length - 1, step: 1 });
  const show = () => {
    const stop = stops[slider.value];
    output.textContent = text(stop);
    slider.setAttribute("aria-valuetext", output.textContent);
    slider.dataset.limit = JSON.stringify(stop);
    slider.classList.toggle("off", stop === null);
  };
  slider.value = stops.indexOf(is_set(now) ? now : null);
  slider.addEventListener("input", () => {
    set(state.limits, stops[slider.value]);
    show();
    choose_again();
  });
  show();
  return make("div", { class: "limit" }, make("label", { for: "limit-" + id }, name), output, slider);
}
function make_limits() {
  const wishes = ["time", "batch-time", ...(settings.cpu ? [] : ["instructions"]), "bytes", "energy"];
  const options = wishes.filter((wish) => figure_named(cost_key(wish)));
  const select = make("select", { id: "minimise" },
    ...options.map((wish) => make("option", { value: wish }, "least " + figure_named(cost_key(wish)).name)));
  select.value = settings.cpu && state.minimise === "instructions" ? "time" : state.minimise;
  select.addEventListener("change", () => { state.minimise = select.value; choose_again(); });
  at("limits").append(...limit_controls().map(make_limit),
    make("div", { class: "limit" }, make("label", { for: "minimise" }, "then"), select));
}

/* The winner under the limits; where there is none, how many candidates meet each limit alone. */
function draw_choice() {
  const { winner, count } = state.choice, bounds = `Bounds of ${round_percent(settings.confidence)} confidence`;
  at("choice").replaceChildren(make("p", { class: "eyebrow" }, "auto takes"),
    ...(winner ? winner_part(winner) : nearest_part()),
    make("p", { class: "fine" }, bounds + ", for the best of up to " + plural(count, "finalist") + "."));
}
function winner_part(winner) {
  const keys = new Set([cost_key(state.minimise), cost_key("bytes")]);
  const costs = FIGURES.filter(({ key }) => keys.has(key) && is_set(winner.figures[key]));
  const cost_text = ({ key, name, format }) => format(winner.figures[key]) + " " + name;
  const lines = [agreement_text(winner), ...costs.map(cost_text)];
  const press = button("winner-name", () => pin(winner.number), small_glyph(winner.method, winner.precision),
    own(winner.title));
  return [fill(press, { id: "winner", "data-number": winner.number }, []),
    soft(...lines.map((line) => make("span", { class: "line" }, line))), command_line(winner.command, winner.title)];
}
function nearest_part() {
  const { failed, unmet } = state.choice, measured = candidates.filter((one) => one.state === "measured");
  const set = (name) => is_set(state.limits[name]) && state.limits[name] !== false;
  const meets = (name) => measured.filter((one) => !(unmet.get(one.number) || [name]).includes(name)).length;
  const lines = Object.keys(LIMITS).filter(set).map((name) => meets(name) + " " + LIMITS[name][0]);
  if (failed.size) lines.push(plural(failed.size, "finalist") + " failed on the reporting rows");
  return [make("p", { id: "winner", "data-number": "", class: "winner-name" }, "None meets all of these"),
    make("ul", { class: "soft" }, ...lines.map((line) => make("li", {}, line)))];
}

