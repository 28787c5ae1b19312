// The approval card. Everything comes in as text and goes out as text nodes;
// nothing a model wrote is ever parsed as HTML.

const REPEAT_MS = 300;
const REPEATS = 100;
const ANSWER_MS = 5000; // in which a kernel that still waits acknowledges a click
const GONE = "The kernel no longer waits for this. Run the cell again.";

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
  const send = (message) => {
    try {
      model.send(message);
    } catch {
      // The kernel is gone; nobody will acknowledge it.
    }
  };
  const say = (message, left = REPEATS) => {
    if (acknowledged.has(message.kind) || left <= 0 || !isAlive()) return;
    send(message);
    setTimeout(say, REPEAT_MS, message, left - 1);
  };
  return { say, acknowledged };
}

// Enter and Space belong to the buttons, whatever shortcuts JupyterLab has for
// them. It looks for this mark when a key arrives, just after this listener; no
// other key is marked, so Ctrl+S and the like go on working.
function keepKeys(bar) {
  const mark = "data-lm-suppress-shortcuts";
  const listen = (event) => {
    if (!bar.contains(event.target)) return;
    const isPlain = !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey);
    bar.toggleAttribute(mark, isPlain && (event.key === "Enter" || event.key === " "));
  };
  window.addEventListener("keydown", listen, true);
  return () => window.removeEventListener("keydown", listen, true);
}

// A person who types in an editor must not have the focus taken away.
function isTyping() {
  const active = document.activeElement;
  return Boolean(active?.closest?.(".cm-editor, input, textarea, [contenteditable]"));
}

function render({ model, el }) {
  let alive = true;
  const { say, acknowledged } = messenger(model, () => alive);

  const card = element("section", "nba-card");
  card.setAttribute("role", "group");
  card.setAttribute("aria-label", `Approval for ${model.get("tool")}`);

  const status = element("span", "nba-status");
  status.setAttribute("aria-live", "polite");

  const bar = element("div", "nba-buttons");
  let clicked = "";
  const end = (text) => {
    for (const button of bar.querySelectorAll("button")) button.disabled = true;
    status.textContent = text;
  };
  const button = (decision, label, sent) => {
    const node = element("button", `nba-button nba-${decision}`, label);
    node.type = "button";
    node.onclick = () => {
      clicked = sent;
      end(sent);
      say({ kind: "decision", decision }, ANSWER_MS / REPEAT_MS);
      setTimeout(() => {
        const isOpen = status.textContent === sent && !acknowledged.has("decision");
        if (isOpen) end(GONE);
      }, ANSWER_MS);
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

  const listen = (message) => {
    if (message.kind === "ack") acknowledged.add(message.of);
    if (message.of === "decision" && status.textContent === GONE) end(clicked);
    if (message.kind === "below") end("Answer in the input box below.");
    if (message.kind === "decided") end(message.text);
  };
  model.on("msg:custom", listen);
  const releaseKeys = keepKeys(bar);

  say({ kind: "ready" });
  requestAnimationFrame(() => {
    if (!isTyping()) deny.focus({ preventScroll: true });
  });
  return () => {
    alive = false;
    model.off("msg:custom", listen);
    releaseKeys();
  };
}

export default { render };
