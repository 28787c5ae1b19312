// The approval card: calls that wait, a row each, until every one is decided.
// Everything comes in as text and goes out as text nodes; nothing a model wrote is
// ever parsed as HTML. Stands on `controls.js`.
//
// The kernel keeps `rows` (what is asked), `records` (by the id of a row, what became
// of it), `hint` and, for a page that was loaded again, what came `after`: its latest `news`
// as texts, and at the end the outputs that belong in the notebook, those `above` the
// card and those `instead` of it. The rest is said in custom messages. The card says, again and
// again until it is acknowledged:
//
//   {kind: "ready", page}                a view is on screen, in a page of that name
//   {kind: "decision", n, id, decision}  a click in the row `id`; `n` is new each time
//       "allow"    with changes: {argument: text}, of the fields that were edited
//       "always"   with scope: "tool" or "call"
//       "deny"     with reason: text
//       "respond"  with text: what the model reads as the result
//       "stop"
//       One row needs no `id`, nor does "stop".
//
// The kernel says, with the seconds that are `left` until the first row expires:
//
//   {kind: "ack", of: "ready" or "decision", n, id}  heard
//   {kind: "invalid", n, id, text}                   that cannot be; the row waits on
//   {kind: "time"}                                   rows have come or gone
//   {kind: "below"}                                  an input box asks instead

const HURRY_SECONDS = 30; // from which on the time that is left stands out
const SETTLE_MS = 500; // in which a new card has found its place in the notebook
const ANSWER_MS = 5000; // in which a kernel that still waits acknowledges a click
const LONGEST_SHOWN = 20000; // characters of an argument that are laid out unasked
const TIME_IS_UP = "Time is up; this counts as no.";
const BELOW = "Answer in the input box below.";
const GONE =
  "The kernel does not answer: it is busy, or no longer waits for this. " +
  "After a restart, run the cell again; if that does not help, reload the page.";

const newToken = () => Math.random().toString(36).slice(2);
// A page that is reloaded, and a notebook that is opened again, load this once more.
const PAGE = newToken();
const VIEW = "application/vnd.jupyter.widget-view+json";

// Characters that turn the direction of a text could make it read as another one.
function visible(text) {
  const turn = /[\u202a-\u202e\u2066-\u2069]/g;
  return text.replace(turn, (each) => `\\u${each.codePointAt(0).toString(16)}`);
}

function callTitle(row) {
  const line = element("span", "nba-title");
  const agent = element("span", "nba-agent");
  agent.append(element("strong", "", visible(row.agent)), " wants to run ");
  line.append(agent, element("code", "nba-tool", visible(row.tool)));
  if (row.risk) line.append(" ", element("span", `nba-risk nba-risk-${row.risk}`, row.risk));
  return line;
}

// A text of a million characters takes seconds to lay out, so its rest comes when it
// is asked for.
function longText(text) {
  const node = element("div", "nba-value");
  node.append(element("pre", "", visible(text.slice(0, LONGEST_SHOWN))));
  const left = text.length - LONGEST_SHOWN;
  if (left <= 0) return node;
  const more = element("summary", "", `${left.toLocaleString("en")} more characters`);
  more.onclick = () => node.replaceChildren(element("pre", "nba-huge", visible(text)));
  const rest = element("details", "nba-rest"); // works in a card that is disabled
  rest.append(more);
  node.append(rest);
  return node;
}

function argumentTable(fields) {
  const table = element("table", "nba-args");
  for (const field of fields.filter(({ has }) => has)) {
    const option = field.options.find(([value]) => value === field.text);
    const row = table.insertRow();
    row.append(element("th", "", visible(field.name)));
    row.insertCell().append(longText(option ? option[1] : field.text));
  }
  return table;
}

function answerField(row) {
  const node = element("label", "nba-instead");
  const input = element("textarea", "nba-field");
  input.rows = 3;
  node.append(`Answer in place of ${visible(row.tool)}, which is then not run:`, input);
  return { node, focus: () => focusOn(input), text: () => input.value };
}

// What the session button allows.
function sessionChoice(tool) {
  const node = element("label", "nba-note");
  const select = element("select", "nba-field");
  select.append(new Option(`every call of ${tool}`, "tool"));
  select.append(new Option("exactly this call", "call"));
  node.append("For session: ", select, " until the kernel restarts");
  return { node, scope: () => select.value };
}

function reasonField(deny) {
  const input = element("input", "nba-field nba-reason");
  input.placeholder = "Reason to deny (optional)";
  input.setAttribute("aria-label", input.placeholder);
  input.title = "The model is told.";
  input.maxLength = 2000;
  input.onkeydown = (event) => {
    if (event.key === "Enter" && !event.isComposing) deny();
  };
  return input;
}

// The middle of a row: its arguments, a form to change them, or an answer in place of
// the tool. Of the buttons and fields only those are there that go with it.
function middle(row, buttons, reason, session) {
  const node = element("div", "nba-area");
  const table = argumentTable(row.fields);
  const { deny, allow, always, edit, answer, send } = buttons;
  const useful = {
    asked: [deny, allow, edit, reason, ...(row.isCall ? [always, answer, session] : [])],
    edited: [deny, allow, edit, reason],
    answered: [deny, send, answer],
  };
  let mode = "asked";
  let part = null;
  const show = () => {
    const nodes = { asked: [table], edited: [part?.node], answered: [table, part?.node] };
    node.replaceChildren(...nodes[mode]);
    for (const each of [...Object.values(buttons), reason, session])
      each.hidden = !useful[mode].includes(each);
    edit.hidden ||= row.fields.length === 0;
    edit.textContent = mode === "edited" ? "Undo edits" : "Edit…";
    answer.textContent = mode === "answered" ? "Back" : "Answer instead…";
  };
  const turn = (to, make, from) => {
    const isBack = mode === to;
    mode = isBack ? "asked" : to;
    part = isBack ? null : make();
    show();
    if (part) part.focus();
    else focusOn(from);
  };
  // The form reads from a model; a row has what it needs of one.
  const form = () => argumentForm({ get: (name) => row[name] });
  edit.onclick = () => turn("edited", form, edit);
  answer.onclick = () => turn("answered", () => answerField(row), answer);
  node.onkeydown = (event) => {
    if (event.key === "Escape" && part) (mode === "edited" ? edit : answer).click();
  };
  show();
  return {
    node,
    mode: () => mode,
    changes: () => (mode === "edited" ? { changes: part.changes() } : {}),
    text: () => part.text(),
    focus: (error) => part?.focus(error),
  };
}

function recordLine(record) {
  const line = element("div", "nba-record");
  line.tabIndex = -1; // takes the focus from a field that is gone, and keeps its keys
  line.setAttribute("data-lm-suppress-shortcuts", "");
  line.append(
    element("span", `nba-mark nba-mark-${record.state}`, record.mark),
    element("strong", "", ` ${visible(record.said)}: `),
    element("code", "nba-tool", visible(record.tool)),
    element("code", "", record.args),
    element("span", "nba-dim", record.rest && ` · ${visible(record.rest)}`),
  );
  return line;
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

const focusedIn = (node) => {
  const focused = node.getRootNode().activeElement;
  return node.contains(focused) ? focused : null;
};

// A person who types in an editor must not have the focus taken away.
function isTyping() {
  const fields = ".cm-editor, input, select, textarea, [contenteditable]";
  return Boolean(document.activeElement?.closest?.(fields));
}

// The focus goes only to a card that is in sight, at least a part of it: a key pressed
// for something else would otherwise answer a question that nobody has read. Where it
// is may be settled a little later than that it is there.
function whenSeen(node, then) {
  const observer = new IntersectionObserver((entries) => {
    if (!entries.at(-1).isIntersecting) return;
    observer.disconnect();
    then();
  });
  observer.observe(node);
  setTimeout(() => observer.disconnect(), SETTLE_MS);
}

// A second click or a key that is held down was meant for what stood there before.
function keepFromRepeating(card) {
  const isButton = (event) => event.target.closest?.("button");
  const refuse = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  card.addEventListener("click", (event) => event.detail > 1 && isButton(event) && refuse(event), true);
  card.addEventListener("keydown", (event) => event.repeat && isButton(event) && refuse(event), true);
}

// What came after, in a page that gets no more outputs of the cell.
function newsPart({ kind, text }) {
  return element("pre", `nba-${kind === "text" ? "said" : "told"}`, visible(text));
}

// The same as outputs of the notebook, so that they are shown as ever, and saved.
// JupyterLab's manager of widgets knows the notebook; where there is none, the texts
// in the card have to do.
function putInPlace(model, { id, above, instead }) {
  const cells = model.widget_manager?.context?.model?.cells;
  const isCard = (output) => output.data?.[VIEW]?.model_id === id;
  const isDisplay = (output) => output.output_type === "display_data";
  for (let index = 0; index < (cells?.length ?? 0); index++) {
    const outputs = cells.get(index).outputs;
    const shown = outputs?.toJSON() ?? [];
    const place = shown.findIndex(isCard);
    if (place < 0) continue;
    const made = (data) => ({ output_type: "display_data", metadata: {}, data });
    const before = shown.slice(0, place);
    const isKnown = before.filter(isDisplay).length === above.length;
    const fresh = above.map(made);
    outputs.fromJSON([
      ...before.map((each) => (isKnown && isDisplay(each) ? fresh.shift() : each)),
      ...instead.map(made),
      ...shown.slice(place + 1).filter((each) => !isDisplay(each)),
    ]);
  }
}

// The nodes of one row.
function buildRow(row, isToldAlready) {
  const node = element("fieldset", "nba-call");
  node.setAttribute("aria-label", `Call of ${row.tool}`);
  const buttons = {
    deny: button("deny", "Deny"),
    allow: button("allow", "Approve"),
    send: button("send", "Send answer"),
    always: button("always", "Approve for session"),
    edit: button("edit", "Edit…"),
    answer: button("answer", "Answer instead…"),
  };
  const head = element("div", "nba-head");
  head.append(callTitle(row));
  const session = sessionChoice(row.tool);
  const reason = reasonField(() => buttons.deny.click());
  const area = middle(row, buttons, reason, session.node);
  const error = element("p", "nba-error");
  error.setAttribute("role", "alert");
  const bar = element("div", "nba-buttons");
  bar.append(...Object.values(buttons));
  const status = element("span", "nba-status");
  status.setAttribute("aria-live", "polite");
  const foot = element("div", "nba-foot");
  foot.append(reason, status, session.node);
  const description = element("p", "nba-description");
  if (!isToldAlready) description.textContent = visible(row.description);
  node.append(head, description, area.node, error, bar, foot);
  return { node, head, bar, buttons, area, reason, session, status, error };
}

// One call: its row, what was clicked in it, and its record once it is decided.
function makeCall(row, isToldAlready, { model, isAlive, onClick }) {
  const { node, head, bar, buttons, ...parts } = buildRow(row, isToldAlready);
  const { say, hear, isHeard } = messenger(model, isAlive);
  const call = { row, node, head, bar, isOpen: true };
  let sent = null;
  const wait = (text) => {
    node.disabled = true;
    parts.error.textContent = "";
    parts.status.textContent = text;
  };
  const decide = (decision, text, more) => {
    if (!call.isFree()) return;
    const message = { kind: "decision", n: newToken(), id: row.id, decision, ...more };
    sent = { message, text };
    wait(text);
    say(message, ANSWER_MS / REPEAT_MS);
    setTimeout(() => {
      if (call.isOpen && sent?.message === message && !isHeard("decision")) wait(GONE);
    }, ANSWER_MS);
    onClick(call);
  };
  call.isFree = () => call.isOpen && !node.disabled;
  call.focus = () => {
    node.scrollIntoView({ block: "nearest" });
    focusOn(buttons.deny);
  };
  call.isAnswering = () => parts.area.mode() === "answered";
  call.deny = () => decide("deny", "Denying…", { reason: parts.reason.value });
  call.allow = () => decide("allow", "Approving…", parts.area.changes());
  call.stop = () => decide("stop", "Stopping…");
  call.heard = (n) => {
    if (sent && hear("decision", n) && parts.status.textContent === GONE) wait(sent.text);
  };
  call.reopen = (n, text) => {
    if (!sent || !hear("decision", n) || !call.isOpen) return;
    sent = null;
    node.disabled = false;
    parts.status.textContent = "";
    parts.error.textContent = text;
    parts.area.focus(text);
  };
  call.settle = (record) => {
    if (!call.isOpen) return;
    call.isOpen = false;
    node.disabled = false;
    node.replaceChildren(recordLine(record));
  };
  buttons.deny.onclick = call.deny;
  buttons.allow.onclick = call.allow;
  buttons.always.onclick = () =>
    decide("always", "Approving…", { scope: parts.session.scope() });
  buttons.send.onclick = () => decide("respond", "Answering…", { text: parts.area.text() });
  return call;
}

// What stands around the rows: for several of them a head, and buttons for all.
function buildCard() {
  const card = element("section", "nba-card");
  card.setAttribute("role", "group");
  const all = element("fieldset", "nba-all");
  const top = element("div", "nba-top");
  const title = element("span", "nba-title");
  title.setAttribute("aria-live", "polite");
  const buttons = {
    denyAll: button("deny", "Deny all"),
    allowAll: button("allow-all", "Approve all"),
    stop: button("stop", "Stop run"),
  };
  const head = element("div", "nba-head");
  head.append(title);
  const bar = element("div", "nba-buttons");
  bar.append(...Object.values(buttons));
  const list = element("div", "nba-calls");
  const news = element("p", "nba-news");
  news.setAttribute("aria-live", "polite");
  const hint = element("p", "nba-hint");
  const after = element("div", "nba-after");
  after.setAttribute("aria-live", "polite");
  top.append(head, bar);
  all.append(top, list);
  card.append(all, news, hint, after);
  return { card, all, title, buttons, head, bar, list, news, hint, after, time: countdown() };
}

function render({ model, el }) {
  let alive = true;
  let left = null; // when the first call expires, by this page's clock
  let isBelow = false;
  const calls = [];
  const view = buildCard();
  const { card, all, buttons, time } = view;
  const isAlive = () => alive;
  const { say, hear } = messenger(model, isAlive);
  const free = () => calls.filter((call) => call.isFree());

  const end = (text) => {
    time.stop();
    all.disabled = Boolean(text);
    view.news.textContent = text;
  };
  // After whatever may have changed which rows can be answered.
  const refresh = () => {
    const isOver = free().length === 0;
    for (const each of Object.values(buttons)) each.disabled = isOver;
    if (left === null || isBelow) return;
    const seconds = (left - performance.now()) / 1000;
    if (!isOver && seconds > 0) time.start(seconds, () => end(TIME_IS_UP));
    else time.stop();
  };
  const setTime = (seconds) => {
    if (seconds === undefined || isBelow) return;
    left = performance.now() + seconds * 1000;
    if (seconds > 0) end("");
  };
  // The title, and what belongs to the only row or else to all of them.
  const arrange = () => {
    const open = calls.filter((call) => call.isOpen).length;
    const isMany = calls.length > 1;
    const agents = new Set(calls.map((call) => call.row.agent));
    const count = open === calls.length ? `${open} calls wait` : `${open} of ${calls.length} calls wait`;
    card.classList.toggle("nba-many", isMany);
    card.classList.toggle("nba-mixed", agents.size > 1);
    const who = element("strong", "", agents.size > 1 ? "" : visible([...agents].join("")));
    const said = open ? `${count} for your answer` : `${calls.length} calls, answered`;
    card.classList.toggle("nba-over", open === 0);
    view.title.replaceChildren(who, `${who.textContent && ": "}${said}`);
    card.setAttribute("aria-label", isMany ? count : `Approval for ${calls[0]?.row.tool}`);
    buttons.denyAll.hidden = buttons.allowAll.hidden = open < 2;
    buttons.stop.hidden = open === 0;
    const place = isMany || !calls.length ? view : calls[0];
    if (time.node.parentNode !== place.head) place.head.append(time.node);
    if (buttons.stop.parentNode !== place.bar) place.bar.append(buttons.stop);
  };
  // The focus goes to the next row, and there to the button that does no harm.
  const moveOn = (from) => {
    const index = calls.indexOf(from);
    const next = [...calls.slice(index), ...calls].find((call) => call.isFree());
    next?.focus();
  };
  const onClick = (call) => {
    refresh();
    const isElsewhere = isTyping() && !focusedIn(call.node);
    // Later, when a click that was for all has reached them all.
    if (!isElsewhere) queueMicrotask(() => moveOn(call));
  };
  const addRows = () => {
    for (const row of model.get("rows").slice(calls.length)) {
      const before = calls.at(-1)?.row;
      const isTold = before?.tool === row.tool && before.description === row.description;
      const call = makeCall(row, isTold, { model, isAlive, onClick });
      calls.push(call);
      view.list.append(call.node);
    }
    arrange();
    refresh();
  };
  const settle = () => {
    const records = model.get("records");
    for (const call of calls.filter(({ isOpen, row }) => isOpen && records[row.id])) {
      const focused = focusedIn(call.node);
      call.settle(records[call.row.id]);
      if (focused?.matches("button")) moveOn(call);
      else if (focused) focusOn(call.node.firstChild);
    }
    arrange();
    refresh();
  };

  const showAfter = () => {
    const after = model.get("after") ?? {};
    if (!after.news) return;
    view.hint.textContent = after.hint;
    view.after.replaceChildren(...after.news.map(newsPart));
    if (after.instead) putInPlace(model, after);
  };

  buttons.denyAll.onclick = () => free().forEach((call) => call.deny());
  buttons.allowAll.onclick = () =>
    free().forEach((call) => call.isAnswering() || call.allow());
  buttons.stop.onclick = () => free()[0]?.stop();
  const listen = (message) => {
    if (message.kind === "ack" && message.of === "ready") hear("ready");
    if (message.kind === "ack" && message.of === "decision")
      for (const call of calls) call.heard(message.n);
    if (message.kind === "invalid")
      for (const call of calls) call.reopen(message.n, message.text);
    if (message.kind === "below") {
      isBelow = true;
      end(BELOW);
    }
    if (message.of !== "decision") setTime(message.left);
    refresh();
  };
  view.hint.textContent = model.get("hint");
  addRows();
  settle();
  el.append(card);
  showAfter();
  model.on("msg:custom", listen);
  model.on("change:rows", addRows);
  model.on("change:records", settle);
  model.on("change:after", showAfter);
  keepFromRepeating(card);
  const releaseKeys = keepKeys(card);

  say({ kind: "ready", page: PAGE });
  // What comes from the background must not get in the way of other work.
  if (!model.get("hint")) whenSeen(card, () => !isTyping() && free()[0]?.focus());
  return () => {
    alive = false;
    time.stop();
    model.off("msg:custom", listen);
    model.off("change:rows", addRows);
    model.off("change:records", settle);
    model.off("change:after", showAfter);
    releaseKeys();
  };
}

export default { render };
