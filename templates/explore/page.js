/* The page: its state, filters and what happens on a change. */
const FILTERS = { model: "model", method: "method", precision: "numbers", claim: "claim" };
const first_x = figure_named(cost_key(settings.minimise)) || FIGURES[0];
const state = {
  x: { axis: first_x, log: true }, y: { axis: Y_AXES[0], log: true }, sort: { key: first_x.key, down: false },
  limits: { ...settings.limits }, minimise: settings.minimise, choice: null, pinned: null, front: new Set(),
  hidden: Object.fromEntries(Object.keys(FILTERS).map((key) => [key, new Set()])),
};
const visible = () => candidates.filter((one) => Object.keys(FILTERS).every((key) => !state.hidden[key].has(one[key])));

/* A filter of models changes what is chosen among; the others only what is looked at. */
function choose_again() {
  const before = state.choice && state.choice.winner,
    among = candidates.filter((one) => !state.hidden.model.has(one.model));
  state.choice = decide(among, state.limits, state.minimise);
  const { winner } = state.choice;
  if (state.pinned === null || (before && state.pinned === before.number)) state.pinned = winner ? winner.number : null;
  const news = winner ? "auto takes " + winner.title + ", " + agreement_text(winner) : "No candidate meets all limits";
  if (before !== winner) announce(news);
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

function make_axis(name, axes) {
  const select = at(name + "-key"), log = at(name + "-log"), now = state[name];
  select.append(...axes.map((axis) => make("option", { value: axis.key }, axis.name)));
  select.value = now.axis.key;
  select.addEventListener("change", () => { now.axis = axes.find((axis) => axis.key === select.value); redraw(); });
  log.addEventListener("click", () => {
    now.log = !now.log;
    log.setAttribute("aria-pressed", String(now.log));
    draw_plot();
  });
}

function make_filters() {
  for (const [key, name] of Object.entries(FILTERS)) {
    const values = [...new Set(candidates.map((one) => one[key]))];
    if (key === "method") values.sort((a, b) => METHODS.indexOf(a) - METHODS.indexOf(b));
    if (values.length < 2 && key !== "method") continue;
    const group = make("div", { class: "filter", role: "group", "aria-label": "Show by " + name },
      make("span", { class: "soft" }, name));
    at("filters").append(fill(group, {}, values.map((value) => chip(key, value))));
  }
  at("filters").append(make("p", { class: "fine" },
    "Hollow: beaten in every respect; dashed: refused or never built; faint: misses a limit. "
    + `The line is the front on these axes; thin bars: bounds of ${round_percent(settings.confidence)} confidence.`));
}
function chip(key, value) {
  const sample = { method: () => small_glyph(value, "f32"), precision: () => small_glyph("exact", value),
    model: () => line_sample(value) }[key];
  const press = button("chip", () => {
    const hidden = state.hidden[key], show = hidden.delete(value);
    if (!show) hidden.add(value);
    press.setAttribute("aria-pressed", String(show));
    if (key === "model") choose_again();
    else refresh();
  }, sample && sample(), own(short(key === "claim" ? lower_case(value) : value, 40)));
  return fill(press, { "aria-pressed": "true", "data-filter": key, "data-value": value }, []);
}
function line_sample(name) {
  const index = record.models.findIndex((model) => model.name === name), ring = { class: "other-model", r: 9 };
  return draw("svg", { class: "glyph", viewBox: "-10 -10 20 20", "aria-hidden": "true" },
    draw("path", { class: "front model-" + (index % 3), d: "M-9 0H9" }), index > 0 && draw("circle", ring));
}

function make_head() {
  const taken = candidates.find((one) => one.number === record.winner);
  at("sentence").textContent = record.sentence.replace(/(\d) (?=(%|[\u00b5mn]?s|[KM]?B|MHz)(?!\w))/g, "$1\u00a0");
  if (taken) at("taken").append(command_line(taken.command, taken.title));
  at("models").append(...record.models.map(model_line));
}
function model_line(model) {
  const facts = joined(model.source, model.kernel + " kernel", plural(model.n_support_vectors, "vector"),
    plural(model.n_features, "feature"), model.is_regressor ? "regression" : model.n_classes + " classes",
    is_set(model.accuracy) && "accuracy " + percent(model.accuracy));
  return make("li", {}, make("b", {}, own(short(model.file || model.name, 80))), " \u00b7 " + facts);
}

function make_fine_print() {
  const { rows, seconds, versions, models } = record, { cpu, clock_mhz, tolerance, budget_seconds, seed } = settings;
  const measured = candidates.filter((one) => one.state === "measured").length,
    built = candidates.filter((one) => one.seconds > 0);
  const lines = [
    ["Rows", [rows.file + ": " + grouped(rows.fit) + " to fit", grouped(rows.choose) + " to choose",
      grouped(rows.report) + " to report" + (rows.report_file ? ` (${rows.report_file})` : ""),
      rows.labelled ? "with labels" : "without labels"].join(", ")],
    ["Hash of the rows", rows.sha256],
    ...models.map((model) => ["Hash of " + short(model.file || model.name, 40), model.sha256]),
    ["Seed", String(seed)], ["Device", cpu && cpu + (is_set(clock_mhz) ? ` at ${clock_mhz} MHz` : "")],
    ["Tolerance", is_set(tolerance) && String(tolerance)],
    ["Search", [plural(candidates.length, "candidate"), measured + " measured",
      digits(seconds) + " s" + (is_set(budget_seconds) ? ` of ${digits(budget_seconds)} s` : "")].join(", ")],
    ["Versions", Object.entries(versions).map(([name, version]) => name + " " + version).join(", ")],
  ].filter(([, text]) => text);
  at("fine").append(make("h2", {}, "Fine print"),
    make("dl", {}, ...lines.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, own(text))])),
    make("details", {}, make("summary", {}, "Seconds per candidate"),
      make("p", {}, built.map((one) => `${one.number}: ${digits(one.seconds)} s`).join(", "))),
    make("p", {}, "This page holds all it shows; nothing is fetched and nothing is sent."));
}

function make_theme() {
  const { dataset } = document.documentElement, wish = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (dataset.theme ? dataset.theme === "dark" : wish.matches);
  const show = () => { at("theme").textContent = dark() ? "Light" : "Dark"; };
  at("theme").addEventListener("click", () => { dataset.theme = dark() ? "light" : "dark"; show(); });
  wish.addEventListener("change", show);
  show();
}

make_head();
make_axis("x", FIGURES);
make_axis("y", Y_AXES);
make_filters();
make_limits();
make_fine_print();
make_theme();
make_pointer();
at("csv").addEventListener("click", () => download("explore.csv", "text/csv", csv_text()));
at("json").addEventListener("click", () => download("explore.json", "application/json",
  JSON.stringify(record, null, 1) + "\n"));
choose_again();
redraw();
let drawn_width = at("plot").clientWidth;
new ResizeObserver(() => {
  if (at("plot").clientWidth === drawn_width) return; /* its height follows from what is drawn */
  drawn_width = at("plot").clientWidth;
  draw_plot();
}).observe(at("plot"));
document.documentElement.dataset.ready = "yes";
