// The approval card. Everything comes in as text and goes out as text nodes;
// nothing a model wrote is ever parsed as HTML. Stands on `controls.js`.

const HURRY_SECONDS = 30; // from which on the time that is left stands out
const ANSWER_MS = 5000; // in which a kernel that still waits acknowledges a click
const TIME_IS_UP = "Time is up; this counts as no.";
const GONE = "The kernel no longer waits for this. Run the cell again.";

function title(model) {
  const line = element("span", "nba-title");
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

// The arguments as they are asked for, or as a form in their place; what only
// makes sense for the former is hidden meanwhile.
function argumentArea(model, edit, forOriginal) {
  const node = element("div", "nba-area");
  const table = argumentTable(model);
  let form = null;
  const show = () => {
    node.replaceChildren(form ? form.node : table);
    edit.textContent = form ? "Undo edits" : "Edit…";
    for (const each of forOriginal) each.hidden = Boolean(form);
  };
  const toggle = () => {
    form = form ? null : argumentForm(model);
    show();
    if (form) form.focus();
    else edit.focus({ preventScroll: true });
  };
  edit.onclick = toggle;
  edit.hidden = model.get("fields").length === 0;
  node.onkeydown = (event) => {
    if (event.key === "Escape" && form) toggle();
  };
  show();
  const allowed = () => (form ? { changes: form.changes() } : {});
  return { node, allowed, focus: (error) => form?.focus(error) };
}

// The kernel says how much time is left: the clocks of two machines may differ.
function countdown() {
  const node = element("span", "nba-left");
  node.setAttribute("role", "timer");
  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    node.textContent = "";
  };
  const start = (seconds, whenOver) => {
    stop();
    const end = performance.now() + seconds * 1000;
    const show = () => {
      const left = Math.max(0, Math.ceil((end - performance.now()) / 1000));
      const rest = String(left % 60).padStart(2, "0");
      node.textContent = `${Math.floor(left / 60)}:${rest} left`;
      node.classList.toggle("nba-hurry", left <= HURRY_SECONDS);
      if (left > 0) return;
      stop();
      whenOver();
    };
    timer = setInterval(show, 1000);
    show();
  };
  return { node, start, stop };
}

// A person who types in an editor must not have the focus taken away.
function isTyping() {
  const fields = ".cm-editor, input, select, textarea, [contenteditable]";
  return Boolean(document.activeElement?.closest?.(fields));
}

function reasonField(deny) {
  const input = element("input", "nba-field nba-reason");
  input.placeholder = "Reason to deny, told to the model (optional)";
  input.setAttribute("aria-label", "Reason to deny (optional)");
  input.maxLength = 2000;
  input.onkeydown = (event) => {
    if (event.key === "Enter" && !event.isComposing) deny();
  };
  return input;
}

// All nodes of the card, not yet connected to the kernel.
function build(model) {
  const card = element("section", "nba-card");
  card.setAttribute("role", "group");
  card.setAttribute("aria-label", `Approval for ${model.get("tool")}`);
  const buttons = {
    deny: button("deny", "Deny"),
    allow: button("allow", "Approve"),
    always: button("always", "Approve for session"),
    edit: button("edit", "Edit…"),
    stop: button("stop", "Stop run"),
  };
  const scope = `${model.get("tool")} no longer asks, until the kernel restarts`;
  const note = element("span", "nba-note", `For session: ${scope}.`);
  buttons.always.title = scope;
  const area = argumentArea(model, buttons.edit, [buttons.always, note]);
  const time = countdown();
  const status = element("span", "nba-status");
  status.setAttribute("aria-live", "polite");
  const error = element("p", "nba-error");
  error.setAttribute("role", "alert");
  const reason = reasonField(() => buttons.deny.click());

  const head = element("div", "nba-head");
  head.append(title(model), time.node);
  const bar = element("div", "nba-buttons");
  bar.append(...Object.values(buttons));
  const foot = element("div", "nba-foot");
  foot.append(reason, status, note);
  card.append(head);
  const description = model.get("description");
  if (description) card.append(element("p", "nba-description", description));
  card.append(area.node, error, bar, foot);
  return { card, buttons, area, time, status, error, reason };
}

function render({ model, el }) {
  let alive = true;
  const { say, hear, isHeard } = messenger(model, () => alive);
  const { card, buttons, area, time, status, error, reason } = build(model);

  const enable = (isEnabled) => {
    for (const node of card.querySelectorAll("button, input, select, textarea"))
      node.disabled = !isEnabled;
  };
  const end = (text) => {
    time.stop();
    enable(false);
    error.textContent = "";
    status.textContent = text;
  };
  const count = (left) => {
    if (left !== undefined) time.start(left, () => end(TIME_IS_UP));
  };
  const reopen = (text) => {
    enable(true);
    status.textContent = "";
    error.textContent = text;
    area.focus(text);
  };
  let attempt = 0;
  let clicked = "";
  const decide = (decision, sent, more) => {
    const n = (attempt += 1);
    clicked = sent;
    end(sent);
    say({ kind: "decision", n, decision, ...more }, ANSWER_MS / REPEAT_MS);
    setTimeout(() => {
      const isOpen = n === attempt && status.textContent === sent;
      if (isOpen && !isHeard("decision")) end(GONE);
    }, ANSWER_MS);
  };
  buttons.deny.onclick = () => decide("deny", "Denying…", { reason: reason.value });
  buttons.allow.onclick = () => decide("allow", "Approving…", area.allowed());
  buttons.always.onclick = () => decide("always", "Approving…");
  buttons.stop.onclick = () => decide("stop", "Stopping…");
  el.append(card);

  const heard = (message) => {
    const isCurrent = hear(message.of, message.n);
    if (message.of === "ready" && attempt === 0) count(message.left);
    if (message.of === "decision" && isCurrent && status.textContent === GONE)
      end(clicked);
  };
  const listen = (message) => {
    if (message.kind === "ack") heard(message);
    if (message.kind === "invalid" && hear("decision", message.n)) {
      reopen(message.text);
      count(message.left);
    }
    if (message.kind === "below") end("Answer in the input box below.");
    if (message.kind === "decided") end(message.text);
  };
  model.on("msg:custom", listen);
  const releaseKeys = keepKeys(card);

  say({ kind: "ready" });
  requestAnimationFrame(() => {
    if (!isTyping()) buttons.deny.focus({ preventScroll: true });
  });
  return () => {
    alive = false;
    time.stop();
    model.off("msg:custom", listen);
    releaseKeys();
  };
}

export default { render };
