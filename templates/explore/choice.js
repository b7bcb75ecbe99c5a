/* The rule of choice, step by step that of `--method auto`: the page names the winner auto would take. */
const UPPER_LIMITS = { latency_us: "time_us", batch_latency_us: "batch_time_us", max_bytes: "table_bytes",
  flash: "flash_bytes", ram: "ram_bytes" };
const MOST_FINALISTS = 3, SAME_COST = 1.05, SAME_LABELS = 0.001;

function cost_key(minimise) {
  if (minimise === "time") return settings.cpu ? "instructions" : "time_us";
  if (minimise === "bytes") return settings.cpu ? "flash_bytes" : "table_bytes";
  return { "batch-time": "batch_time_us", instructions: "instructions", energy: "energy_nj" }[minimise];
}

/* How many finalists may be tested on the reporting rows. Each test takes its part of the risk, so few rows
 * allow fewer. */
function most_tests(limits) {
  if (!is_set(limits.agreement) && !is_set(limits.accuracy_loss)) return MOST_FINALISTS;
  const risk = 1 - settings.confidence;
  for (let count = MOST_FINALISTS; count > 1; count--) {
    const rows = Math.ceil(Math.abs(Math.log(risk / count) / Math.log(limits.agreement))); /* none suffice for 1 */
    if (record.rows.report >= 2 * (is_set(limits.agreement) ? rows : 1)) return count;
  }
  return 1;
}

/* The limits a candidate does not meet, by name; empty for one that is eligible. */
function unmet_limits(candidate, limits, count) {
  const low = candidate.agreement && candidate.agreement.expected_low, unmet = [];
  const loss = candidate.accuracy && candidate.accuracy.expected_loss_high;
  const kept = (low && low[count - 1] >= limits.agreement) || !is_set(limits.agreement);
  const accurate = (loss && loss[count - 1] <= limits.accuracy_loss) || !is_set(limits.accuracy_loss);
  if (!candidate.proven) {
    if (limits.same_labels) unmet.push("same_labels");
    if (!kept) unmet.push("agreement");
    if (!accurate) unmet.push("accuracy_loss");
  }
  for (const [name, key] of Object.entries(UPPER_LIMITS)) {
    const figure = candidate.figures[key];
    if (is_set(limits[name]) && !(is_set(figure) && figure <= limits[name])) unmet.push(name);
  }
  return unmet;
}

/* The cheapest first; those within 5 % of the cheapest count as equal, and the smallest of them comes next. */
function by_cost(group, minimise) {
  const key = cost_key(minimise), size_key = cost_key("bytes"), rest = [...group], order = [];
  const figure = (one, name) => (is_set(one.figures[name]) ? one.figures[name] : Infinity);
  while (rest.length) {
    const least = Math.min(...rest.map((one) => figure(one, key)));
    const equal = rest.filter((one) => figure(one, key) <= SAME_COST * least);
    equal.sort((a, b) => Math.sign(figure(a, size_key) - figure(b, size_key)) || a.number - b.number);
    order.push(equal[0]);
    rest.splice(rest.indexOf(equal[0]), 1);
  }
  return order;
}

/* Without a limit on labels the labels are the first wish: groups of about the same disagreement. */
function groups_by_labels(eligible) {
  const share = (one) => (one.agreement ? 1 - one.agreement.choose.same / one.agreement.choose.rows : 1);
  const groups = [eligible.filter((one) => one.proven)];
  let rest = eligible.filter((one) => !one.proven);
  while (rest.length) {
    const least = Math.min(...rest.map(share)), near = (one) => share(one) <= least + SAME_LABELS;
    groups.push(rest.filter(near));
    rest = rest.filter((one) => !near(one));
  }
  return groups;
}

function passes(candidate, limits, count) {
  return (!is_set(limits.agreement) || candidate.agreement.report.low[count - 1] >= limits.agreement)
    && (!is_set(limits.accuracy_loss) || candidate.accuracy.loss_high[count - 1] <= limits.accuracy_loss);
}

/* The winner (or null), the order of the eligible, those that failed on the reporting rows, and for every
 * candidate the limits it does not meet. */
function decide(among, limits, minimise) {
  const count = most_tests(limits), unmet = new Map(among.map((one) => [one.number, unmet_limits(one, limits, count)]));
  const eligible = among.filter((one) => one.state === "measured" && !unmet.get(one.number).length);
  const limited = limits.same_labels || is_set(limits.agreement) || is_set(limits.accuracy_loss);
  const groups = limited ? [eligible] : groups_by_labels(eligible);
  const order = groups.flatMap((group) => by_cost(group, minimise)), failed = new Set();
  let winner = null;
  for (const one of order) {
    if (one.proven || !limited) winner = one;
    else if (failed.size < count) {
      if (passes(one, limits, count)) winner = one;
      else failed.add(one.number);
    }
    if (winner) break;
  }
  return { winner, order, failed, unmet, count };
}

