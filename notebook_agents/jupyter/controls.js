// What the widgets share: a form with a field for each argument, messages that
// get through to a busy kernel, and keys that stay in the widget. A widget's
// script cannot import another file, so `script()` puts this one before it.

const REPEAT_MS = 300;
const REPEATS = 100;

function element(tag, className, text) {
  const node = document.createElement(tag);
  node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function button(kind, label) {
  const node = element("button", `nba-button nba-${kind}`, label);
  node.type = "button";
  return node;
}

// What has the focus is on screen.
function focusOn(node) {
  node.focus({ preventScroll: true });
  node.scrollIntoView({ block: "nearest" });
}

function control(field) {
  if (field.kind === "choice") {
    const select = element("select", "nba-field");
    if (!field.has) select.append(new Option(field.hint || "not given", ""));
    for (const [value, label] of field.options) select.append(new Option(label, value));
    if (field.has) select.value = field.text;
    return select;
  }
  if (field.kind === "check") {
    const box = element("input", "nba-check");
    box.type = "checkbox";
    box.checked = field.text === "true";
    return box;
  }
  const isLong = field.kind === "lines" || field.kind === "json";
  const input = element(isLong ? "textarea" : "input", "nba-field");
  if (isLong) input.rows = Math.min(10, field.text.split("\n").length + (field.kind === "lines"));
  if (field.kind === "number") input.inputMode = "decimal";
  input.placeholder = field.hint || (field.has ? "" : "not given");
  input.spellcheck = false;
  input.value = field.text;
  return input;
}

function valueOf(input) {
  return input.type === "checkbox" ? String(input.checked) : input.value;
}

// One field for each argument. What comes out is the text of those that were
// changed: the kernel reads it, so a number is never rounded on its way.
function argumentForm(model) {
  const node = element("table", "nba-args nba-form");
  const inputs = model.get("fields").map((field, index) => {
    const row = node.insertRow();
    const label = element("label", "", field.name);
    const input = control(field);
    label.htmlFor = input.id = `nba-${Math.random().toString(36).slice(2)}-${index}`;
    row.append(element("th", ""));
    row.firstChild.append(label);
    row.insertCell().append(input);
    return { name: field.name, input, before: valueOf(input) };
  });
  const changes = () =>
    Object.fromEntries(
      inputs
        .filter(({ input, before }) => valueOf(input) !== before)
        .map(({ name, input }) => [name, valueOf(input)]),
    );
  // The first field that an error names, else the first of all.
  const focus = (error = "") => {
    const isNamed = ({ name }) => error.startsWith(`${name}:`) || error.includes(`'${name}'`);
    const named = inputs.find(isNamed);
    for (const each of inputs) each.input.ariaInvalid = String(each === named);
    focusOn((named ?? inputs[0]).input);
  };
  return { node, changes, focus };
}

// While a cell is busy the first messages of a new comm may wait behind it,
// so each is repeated until the kernel has acknowledged it. A new message of a
// kind takes the place of the one before.
function messenger(model, isAlive) {
  const current = {};
  const acknowledged = new Set();
  const send = (message) => {
    try {
      model.send(message);
    } catch {
      // The kernel is gone; nobody will acknowledge it.
    }
  };
  const repeat = (message, left) => {
    if (current[message.kind] !== message || acknowledged.has(message)) return;
    if (left <= 0 || !isAlive()) return;
    send(message);
    setTimeout(repeat, REPEAT_MS, message, left - 1);
  };
  const say = (message, times = REPEATS) => {
    current[message.kind] = message;
    repeat(message, times);
  };
  const hear = (kind, n) => {
    const isCurrent = (n ?? current[kind]?.n) === current[kind]?.n;
    if (isCurrent && current[kind]) acknowledged.add(current[kind]);
    return isCurrent;
  };
  const isHeard = (kind) => acknowledged.has(current[kind]);
  return { say, hear, isHeard };
}

// Enter and Space belong to the buttons and all that is typed to the fields,
// whatever shortcuts JupyterLab has for them; nor may a letter that is pressed by
// chance while a button has the focus cut the cell, turn it into text or restart the
// kernel. JupyterLab looks for this mark when a key arrives, just after this listener;
// Ctrl+S and the like go on working, and the arrows lead away from the card.
function keepKeys(card) {
  const mark = "data-lm-suppress-shortcuts";
  const listen = (event) => {
    if (!card.contains(event.target)) return;
    const isPlain = !(event.ctrlKey || event.metaKey || event.altKey);
    const isField = event.target.matches("input, select, textarea");
    const isPress = event.key === "Enter" && !event.shiftKey;
    const isText = event.key.length === 1 || event.key === "Delete" || event.key === "Backspace";
    event.target.toggleAttribute(mark, isPlain && (isField || isPress || isText));
  };
  window.addEventListener("keydown", listen, true);
  return () => window.removeEventListener("keydown", listen, true);
}
