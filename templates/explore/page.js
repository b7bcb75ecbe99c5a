/* The page: its state, filters and what happens on a change. */
const FILTERS = [
  ["model", "model", (one) => one.model], ["method", "method", (one) => one.method],
  ["precision", "numbers", (one) => one.precision], ["claim", "claim", (one) => one.claim],
];
const first_x = figure_named(cost_key(settings.minimise)) || FIGURES[0];
const state = {
  x: { axis: first_x, log: true }, y: { axis: Y_AXES[0], log: true },
  limits: { ...settings.limits }, minimise: settings.minimise, choice: null, pinned: null, front: new Set(),
  sort: { key: first_x ? first_x.key : "number", down: false },
  hidden: Object.fromEntries(FILTERS.map(([key]) => [key, new Set()])),
};
const visible = () => candidates.filter((one) => FILTERS.every(([key, , value]) => !state.hidden[key].has(value(one))));

/* A filter of models changes what is chosen among; the others only what is looked at. */
function choose_again() {
  const before = state.choice && state.choice.winner;
  state.choice = decide(candidates.filter((one) => !state.hidden.model.has(one.model)), state.limits, state.minimise);
  const winner = state.choice.winner;
  if (!state.pinned || (before && state.pinned === before.number)) state.pinned = winner ? winner.number : null;
  if (before !== winner) announce(winner ? "auto takes " + winner.title + ", " + agreement_text(winner) : "No candidate meets all limits");
  refresh();
}
/* A slider moves faster than a screen is drawn: the winner is named at once, the rest once per frame. */
let waiting = false;
function refresh() {
  draw_choice();
  if (!waiting) requestAnimationFrame(redraw);
  waiting = true;
}
function redraw() {
  waiting = false;
  draw_plot();
  draw_detail();
  draw_table();
}
function pin(number) {
  state.pinned = number === state.pinned ? null : number;
  const one = candidates.find((candidate) => candidate.number === state.pinned);
  announce(one ? "Pinned " + describe(one) : "Unpinned");
  redraw();
}

function make_axes() {
  for (const [name, axes] of [["x", FIGURES], ["y", Y_AXES]]) {
    const select = at(name + "-key"), log = at(name + "-log");
    select.append(...axes.map((axis) => make("option", { value: axis.key, text: axis.name })));
    select.value = state[name].axis ? state[name].axis.key : "";
    select.addEventListener("change", () => { state[name].axis = axes.find((axis) => axis.key === select.value); draw_plot(); draw_table(); });
    log.addEventListener("click", () => {
      state[name].log = !state[name].log;
      log.setAttribute("aria-pressed", String(state[name].log));
      draw_plot();
    });
  }
}

function make_filters() {
  for (const [key, name, value] of FILTERS) {
    const values = [...new Set(candidates.map(value))].sort((a, b) => (key === "method" ? METHODS.indexOf(a) - METHODS.indexOf(b) : 0));
    if (values.length < 2 && key !== "method") continue;
    const chips = values.map((text) => make("button", { type: "button", class: "chip", "aria-pressed": "true", "data-filter": key, "data-value": text, onclick: (event) => toggle(key, text, event.currentTarget) },
      key === "method" && small_glyph(text, "f32"), key === "precision" && small_glyph("exact", text), key === "model" && line_sample(text), make("bdi", { text: short(text.toLowerCase().replace("_", " ") === text ? text : key === "claim" ? text.toLowerCase().replace("_", " ") : text, 40) })));
    at("filters").append(make("div", { class: "filter", role: "group", "aria-label": "Show by " + name }, make("span", { class: "soft", text: name }), ...chips));
  }
  at("filters").append(make("p", { class: "fine", text: "Filled: nothing is both cheaper and better. Hollow: beaten, or dashed: refused or never built. Line: the front on these axes. Thin bars: " + plain_percent(settings.confidence) + " bounds. Faint: misses a limit." }));
}
function line_sample(model) {
  const index = record.models.findIndex((one) => one.name === model);
  return draw("svg", { class: "glyph", viewBox: "-10 -10 20 20", "aria-hidden": "true" }, draw("path", { class: "front model-" + (index % 3), d: "M-9 0H9" }));
}
function toggle(key, value, chip) {
  const hidden = state.hidden[key], show = hidden.has(value);
  if (show) hidden.delete(value);
  else hidden.add(value);
  chip.setAttribute("aria-pressed", String(show));
  if (key === "model") choose_again();
  else refresh();
}

function make_head() {
  const taken = candidates.find((one) => one.number === record.winner);
  at("sentence").textContent = record.sentence.replace(/(\d) (?=(%|[\u00b5mn]?s|[KM]?B|MHz)(?!\w))/g, "$1\u00a0");
  at("taken").hidden = !taken;
  if (taken) at("taken").append(...command_line(taken.command, taken.title));
  at("models").append(...record.models.map((model) => make("li", {}, make("b", {}, make("bdi", { text: short(model.file || model.name, 80) })), make("span", { text: [model.source, model.kernel + " kernel",
    plural(model.n_support_vectors, "vector"), plural(model.n_features, "feature"), model.is_regressor ? "regression" : model.n_classes + " classes",
    is_set(model.accuracy) && "accuracy " + percent(model.accuracy)].filter(Boolean).map((text) => " \u00b7 " + text).join("") }))));
}

function make_fine_print() {
  const rows = record.rows, count = (number) => (number || 0).toLocaleString("en-US"), built = candidates.filter((one) => one.state === "measured").length;
  const lines = [
    ["Rows", `${rows.file}: ${count(rows.fit)} to fit, ${count(rows.choose)} to choose, ${count(rows.report)} to report` + (rows.report_file ? ` (${rows.report_file})` : "") + (rows.labelled ? ", with labels" : ", without labels")],
    ["Hash of the rows", rows.sha256], ...record.models.map((model) => ["Hash of " + short(model.file || model.name, 60), model.sha256]),
    ["Seed", String(settings.seed)], ["Device", settings.cpu && settings.cpu + (is_set(settings.clock_mhz) ? ` at ${settings.clock_mhz} MHz` : "")],
    ["Tolerance", is_set(settings.tolerance) && String(settings.tolerance)],
    ["Search", `${plural(candidates.length, "candidate")}, ${built} measured, ${digits(record.seconds)} s` + (is_set(settings.budget_seconds) ? ` of ${digits(settings.budget_seconds)} s` : "")],
    ["Versions", Object.entries(record.versions).map(([name, version]) => name + " " + version).join(", ")],
  ];
  const seconds = candidates.filter((one) => is_set(one.seconds) && one.seconds > 0).map((one) => one.number + ": " + digits(one.seconds) + " s").join(", ");
  at("fine").append(make("h2", { text: "Fine print" }), make("dl", {}, ...lines.filter(([, text]) => text).flatMap(([name, text]) => [make("dt", { text: name }), make("dd", {}, make("bdi", { text }))])),
    make("details", {}, make("summary", { text: "Seconds per candidate" }), make("p", { text: seconds })),
    make("p", { text: "This page holds all it shows; nothing is fetched and nothing is sent." }));
}

function make_theme() {
  const dark = () => getComputedStyle(document.documentElement).colorScheme === "dark"
    || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  const show = () => { at("theme").textContent = dark() ? "Light" : "Dark"; };
  at("theme").addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; show(); });
  show();
}

function begin() {
  make_head();
  make_axes();
  make_filters();
  make_limits();
  make_fine_print();
  make_theme();
  make_pointer();
  at("csv").addEventListener("click", () => download("explore.csv", "text/csv", csv_text()));
  at("json").addEventListener("click", () => download("explore.json", "application/json", JSON.stringify(record, null, 1) + "\n"));
  choose_again();
  redraw();
  let width = at("plot").clientWidth;
  new ResizeObserver(() => {
    if (at("plot").clientWidth === width) return; /* its height follows from what is drawn */
    width = at("plot").clientWidth;
    draw_plot();
  }).observe(at("plot"));
  document.documentElement.dataset.ready = "yes";
}
begin();
