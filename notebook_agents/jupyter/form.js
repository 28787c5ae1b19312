// The form by which a person tries a tool. Stands on `controls.js`.

const ANSWER_MS = 5000; // in which an idle kernel acknowledges a click
const BUSY = "The kernel is busy, or was restarted: then run the cell again.";

function title(model) {
  const line = element("span", "nba-title", "Try ");
  line.append(element("code", "nba-tool", model.get("tool")));
  const risk = model.get("risk");
  if (risk) line.append(" ", element("span", `nba-risk nba-risk-${risk}`, risk));
  return line;
}

// All nodes of the form, not yet connected to the kernel.
function build(model) {
  const card = element("section", "nba-card nba-try");
  card.setAttribute("role", "group");
  card.setAttribute("aria-label", `Form for ${model.get("tool")}`);
  const form = argumentForm(model);
  const run = button("allow", "Run");
  const close = button("stop", "Close");
  const error = element("p", "nba-error");
  error.setAttribute("role", "alert");
  const status = element("span", "nba-status");
  status.setAttribute("aria-live", "polite");
  const head = element("div", "nba-head");
  head.append(title(model));
  const bar = element("div", "nba-buttons");
  bar.append(run, status, close);
  card.append(head);
  const description = model.get("description");
  if (description) card.append(element("p", "nba-description", description));
  card.append(form.node, error, bar);
  return { card, form, run, close, error, status };
}

function render({ model, el }) {
  let alive = true;
  const view = Math.random().toString(36).slice(2); // there may be several
  const { say, hear, isHeard } = messenger(model, () => alive);
  const { card, form, run, close, error, status } = build(model);
  const hasFields = model.get("fields").length > 0;

  const enable = (isEnabled) => {
    for (const node of card.querySelectorAll("button, input, select, textarea"))
      node.disabled = !isEnabled;
    close.disabled = false;
  };
  let attempt = 0;
  run.onclick = () => {
    const n = `${view}-${(attempt += 1)}`;
    const sent = attempt;
    enable(false);
    // The form is about to go, and the keys of the notebook shall work then.
    el.closest(".jp-Cell")?.focus({ preventScroll: true });
    error.textContent = "";
    status.textContent = "Running…";
    say({ kind: "run", n, changes: form.changes() });
    setTimeout(() => {
      if (sent === attempt && !isHeard("run")) status.textContent = BUSY;
    }, ANSWER_MS);
  };
  close.onclick = () => say({ kind: "close" });
  form.node.onkeydown = (event) => {
    const isLine = event.target.matches("input, select");
    if (event.key === "Enter" && isLine && !event.isComposing) run.click();
  };
  el.append(card);

  const listen = (message) => {
    if (!hear(message.of ?? "run", message.n)) return;
    if (message.kind === "ack" && status.textContent === BUSY)
      status.textContent = "Running…";
    if (message.kind !== "invalid") return;
    enable(true);
    status.textContent = "";
    error.textContent = message.text;
    if (hasFields) form.focus(message.text);
  };
  model.on("msg:custom", listen);
  const releaseKeys = keepKeys(card);

  // The cell has just been run, and nobody is elsewhere by now.
  requestAnimationFrame(() => {
    const cell = el.closest(".jp-Cell.jp-mod-active");
    if (!cell || el.closest(".jp-mod-editMode")) return;
    if (hasFields) form.focus();
    else focusOn(run);
  });
  return () => {
    alive = false;
    model.off("msg:custom", listen);
    releaseKeys();
  };
}

export default { render };
