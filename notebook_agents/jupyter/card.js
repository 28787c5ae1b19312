// The approval card. Everything comes in as text and goes out as text nodes;
// nothing a model wrote is ever parsed as HTML.

const REPEAT_MS = 300;
const REPEATS = 100;

function element(tag, className, text) {
  const node = document.createElement(tag);
  node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function title(model) {
  const line = element("p", "nba-title");
  line.append(
    element("strong", "", model.get("agent")),
    " wants to run ",
    element("code", "nba-tool", model.get("tool")),
  );
  const risk = model.get("risk");
  if (risk) line.append(" ", element("span", `nba-risk nba-risk-${risk}`, risk));
  return line;
}

function argumentTable(model) {
  const table = element("table", "nba-args");
  for (const [name, value] of model.get("args")) {
    const row = table.insertRow();
    row.append(element("th", "", name));
    const cell = row.insertCell();
    cell.append(element("pre", "", value));
  }
  return table;
}

// While a cell is busy the first messages of a new comm may wait behind it,
// so each is repeated until the kernel has acknowledged it.
function messenger(model, isAlive) {
  const acknowledged = new Set();
  const listen = (message) => {
    if (message.kind === "ack") acknowledged.add(message.of);
  };
  model.on("msg:custom", listen);
  const say = (message, left = REPEATS) => {
    if (acknowledged.has(message.kind) || left === 0 || !isAlive()) return;
    model.send(message);
    setTimeout(say, REPEAT_MS, message, left - 1);
  };
  return { say, stop: () => model.off("msg:custom", listen) };
}

// A person who types in an editor must not have the focus taken away.
function isTyping() {
  const active = document.activeElement;
  return Boolean(active?.closest?.(".cm-editor, input, textarea, [contenteditable]"));
}

function render({ model, el }) {
  let alive = true;
  const { say, stop } = messenger(model, () => alive);

  const card = element("section", "nba-card");
  card.setAttribute("role", "group");
  card.setAttribute("aria-label", `Approval for ${model.get("tool")}`);
  // JupyterLab would take Enter as a command of its own.
  card.setAttribute("data-lm-suppress-shortcuts", "true");

  const status = element("span", "nba-status");
  status.setAttribute("aria-live", "polite");

  const bar = element("div", "nba-buttons");
  const button = (decision, label, sent) => {
    const node = element("button", `nba-button nba-${decision}`, label);
    node.type = "button";
    node.onclick = () => {
      for (const other of bar.querySelectorAll("button")) other.disabled = true;
      status.textContent = sent;
      say({ kind: "decision", decision });
    };
    return node;
  };
  const deny = button("deny", "Deny", "Denying…");
  bar.append(
    deny,
    button("allow", "Approve", "Approving…"),
    button("stop", "Stop run", "Stopping…"),
    status,
  );

  card.append(title(model));
  const description = model.get("description");
  if (description) card.append(element("p", "nba-description", description));
  if (model.get("args").length) card.append(argumentTable(model));
  card.append(bar);
  el.append(card);

  say({ kind: "ready" });
  requestAnimationFrame(() => {
    if (!isTyping()) deny.focus({ preventScroll: true });
  });
  return () => {
    alive = false;
    stop();
  };
}

export default { render };
